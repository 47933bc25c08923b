import { type Content, type Html, html } from '@gatehouse/web/html';
import { renderMarkdown } from '../guides/markdown.ts';
import type { ApiDescription } from '../openapi/source.ts';
import { type Located, methodTag, operationView } from '../reference/operation-view.ts';
import type { ReferencePage, Topic } from '../reference/topics.ts';
import type { Contents, DocsPage } from './layout.ts';

/** Every operation by topic, on one page. */
export function referenceIndex({ topics }: Contents, { missing, document }: ApiDescription): DocsPage {
  const count = topics.flatMap(({ pages }) => pages.flatMap(({ operations }) => operations)).length;
  return {
    title: 'API reference',
    path: '/docs/api',
    intro: html`<p class="lead">${count} operations. This is version ${document.info.version} of the interface; releases of Gatehouse have version numbers of their own. Where a resource has several profiles, each has its own path or shape, and an application pins the one it needs. For programs: <a href="/openapi.json">openapi.json</a>.</p>`,
    headings: topics.map(({ name }) => ({ level: 2, id: anchorOf(name), text: name })),
    body: html`${missingNotice(missing)}${topics.map(topicView)}`,
  };
}

/** The operations of a tag, in full. */
export function referencePage(
  page: ReferencePage,
  topic: Topic,
  { document, missing }: ApiDescription,
): DocsPage {
  const { title, tag, href, operations } = page;
  return {
    title,
    path: href,
    part: topic.name === title ? 'API reference' : topic.name,
    intro:
      tag.description !== undefined &&
      html`<div class="profiles-of">${renderMarkdown(tag.description).body}</div>`,
    body: html`${missingNotice(missing)}${operations.length > 1 && html`<nav aria-label="Operations">${operationLinks('', operations)}</nav>`}${operations.map((it) => operationView(document, it))}`,
  };
}

function topicView({ name, pages }: Topic): Content {
  return html`<section><h2 id="${anchorOf(name)}">${name}</h2>
${pages.map(
  ({
    title,
    tag,
    href,
    operations,
  }) => html`<div class="panel">${title !== name && html`<h3><a href="${href}">${title}</a></h3>`}
${tag.description !== undefined && html`<div class="profiles-of">${renderMarkdown(tag.description).body}</div>`}
${operationLinks(href, operations)}</div>`,
)}</section>`;
}

function operationLinks(page: string, operations: readonly Located[]): Html {
  return html`<ul class="operations">${operations.map(
    ({ method, path, operation }) =>
      html`<li><a href="${`${page}#${operation.operationId}`}">${methodTag(method)} <code>${path}</code><span class="summary">${operation.summary}</span></a></li>`,
  )}</ul>`;
}

function anchorOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}

function missingNotice(missing: readonly string[]): Content {
  if (missing.length === 0) return false;
  return html`<div class="unavailable" role="status"><p><strong>The reference is incomplete.</strong> The ${missing.length === 1 ? 'description' : 'descriptions'} of ${missing.join(' and ')} cannot be loaded. Load the page again in a moment.</p></div>`;
}
