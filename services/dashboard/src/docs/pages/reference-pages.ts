import { type Content, type Html, html } from '@gatehouse/web/html';
import { renderMarkdown } from '../guides/markdown.ts';
import type { Tag } from '../openapi/document.ts';
import type { ApiDescription } from '../openapi/source.ts';
import { type Located, methodTag, operationView, pathsView } from '../reference/operation-view.ts';
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
export function referencePage(page: ReferencePage, { document, missing }: ApiDescription): DocsPage {
  const { title, paths, tag, hrefs, operations } = page;
  const [about, ...profiles] = paragraphsOf(tag);
  return {
    title,
    paths,
    path: hrefs[0],
    part: 'API reference',
    intro: html`${about !== undefined && html`<div class="lead">${renderMarkdown(about).body}</div>`}${profilesView(profiles)}`,
    body: html`${missingNotice(missing)}${operations.length > 1 && html`<nav aria-label="Operations">${operationLinks('', operations)}</nav>`}${operations.map((it) => operationView(document, it))}`,
  };
}

function topicView({ name, pages }: Topic): Content {
  return html`<section><h2 id="${anchorOf(name)}">${name}</h2>
${pages.map(({ title, paths, tag, hrefs, operations }, i) => {
  const [about, ...profiles] = paragraphsOf(tag);
  // The paths of one object have one text.
  const isNew = about !== undefined && about !== paragraphsOf(pages[i - 1]?.tag)[0];
  return html`${isNew && html`<div class="about-object">${renderMarkdown(about).body}</div>`}
<div class="panel">${pages.length > 1 && html`<h3><a href="${hrefs[0]}">${title} ${pathsView(paths)}</a></h3>`}
${profilesView(profiles)}
${operationLinks(hrefs[0], operations)}</div>`;
})}</section>`;
}

/** The object comes first, and then the profiles. */
function paragraphsOf(tag: Tag | undefined): string[] {
  return tag?.description?.split('\n\n') ?? [];
}

function profilesView(paragraphs: readonly string[]): Content {
  return (
    paragraphs.length > 0 &&
    html`<div class="profiles-of">${renderMarkdown(paragraphs.join('\n\n')).body}</div>`
  );
}

function operationLinks(page: string, operations: readonly Located[]): Html {
  return html`<ul class="operations">${operations.map(
    ({ method, path, aliases = [], operation }) =>
      html`<li><a href="${`${page}#${operation.operationId}`}">${methodTag(method)} ${pathsView([path, ...aliases])}<span class="summary">${operation.summary}</span></a></li>`,
  )}</ul>`;
}

function anchorOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}

function missingNotice(missing: readonly string[]): Content {
  if (missing.length === 0) return false;
  return html`<div class="unavailable" role="status"><p><strong>The reference is incomplete.</strong> The ${missing.length === 1 ? 'description' : 'descriptions'} of ${missing.join(' and ')} cannot be loaded. Load the page again in a moment.</p></div>`;
}
