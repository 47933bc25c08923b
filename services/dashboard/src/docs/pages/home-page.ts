import { type Html, html } from '@gatehouse/web/html';
import { choiceLinks } from '../../pages/parts.ts';
import type { Topic } from '../reference/topics.ts';
import type { Contents, DocsPage } from './layout.ts';

/** The texts of the first cards; only existing guides get one. */
const FIRST: readonly [name: string, text: string][] = [
  ['build-on-it', 'The first token, the first request and the sign-in of your own application.'],
  ['applications', 'Types of applications, and how to replace secrets and API keys without downtime.'],
  ['sign-in', 'The code flow with PKCE, sessions, and signing out.'],
  ['profiles', 'One interface in several formats, and how to pin the format that you need.'],
  ['paging', 'Read long lists by cursor, without skipping a row.'],
  ['errors', 'The format of errors, and how to handle each error.'],
  ['scopes', 'The permissions of a token, and how to request only those that you need.'],
  ['migrating', 'Move an existing application over, step by step.'],
  ['run-it', 'Gatehouse on your own machine, with sample accounts and applications.'],
  ['production', 'Settings and checks before people depend on your deployment.'],
  ['deploy-with-docker', 'All services, the edge and the databases with one command.'],
];

/** Where the documentation begins. */
export function homePage({ guides, topics }: Contents): DocsPage {
  const cards = FIRST.flatMap(([name, text]) => {
    const guide = guides.find(({ file }) => file === `docs/guides/${name}.md`);
    return guide === undefined ? [] : [{ href: guide.href, title: guide.title, text }];
  });
  const others = guides.filter(
    ({ kind, href }) => kind === 'guide' && !cards.some((card) => card.href === href),
  );
  const background = guides.filter(({ kind }) => kind === 'background');
  return {
    title: 'Documentation',
    path: '/docs',
    intro: html`<p class="lead">Guides for building applications and for running Gatehouse, and a reference of every operation with its parameters, responses and a request to copy.</p>`,
    body: html`<section><h2>Guides</h2>
${choiceLinks(cards)}</section>
<section><h2>Each part in depth</h2>
<ul class="plain-links">${others.map(({ href, title }) => html`<li><a href="${href}">${title}</a></li>`)}</ul></section>
<section><h2>API reference</h2>
<p>The reference as a file for programs: <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1).</p>
<ul class="topics">${topics.map(topicView)}</ul></section>
<section><h2>Background</h2>
<ul class="plain-links">${background.map(({ href, title }) => html`<li><a href="${href}">${title}</a></li>`)}<li><a href="/docs/adr">Design decisions and their reasons</a></li></ul></section>`,
  };
}

function topicView({ name, pages }: Topic): Html {
  const [first] = pages;
  if (first !== undefined && pages.length === 1)
    return html`<li><a class="topic" href="${first.hrefs[0]}">${name}</a></li>`;
  const links = pages.map(
    ({ hrefs, paths }) => html`<li><a href="${hrefs[0]}"><code>${paths[0]}</code></a></li>`,
  );
  return html`<li><strong>${name}</strong><ul>${links}</ul></li>`;
}

/** The decisions, the first one first. */
export function decisionsPage({ guides }: Contents): DocsPage {
  const decisions = guides.filter(({ kind }) => kind === 'decision');
  return {
    title: 'Decisions',
    path: '/docs/adr',
    part: 'Background',
    intro: html`<p class="lead">The design decisions, the alternatives that were tried, and the consequences.</p>`,
    body: html`<ul class="plain-links">${decisions.map(({ href, title }) => html`<li><a href="${href}">${title}</a></li>`)}</ul>`,
  };
}
