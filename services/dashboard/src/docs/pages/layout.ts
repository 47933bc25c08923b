import { VERSION } from '@gatehouse/core/version';
import { htmlDocument, PRODUCT } from '@gatehouse/web/document';
import { type Content, type Html, html } from '@gatehouse/web/html';
import { logo } from '@gatehouse/web/illustrations';
import { HEAD_OF_DOCS } from '../../pages/assets.ts';
import type { Guide } from '../guides/library.ts';
import type { Heading } from '../guides/markdown.ts';
import { pathsView } from '../reference/operation-view.ts';
import type { Topic } from '../reference/topics.ts';

/** The entries of the navigation. */
export type Contents = { guides: readonly Guide[]; topics: readonly Topic[] };

export type DocsPage = {
  title: string;
  /** The path of the page. */
  path: string;
  /** The paths of the API that it is about, below the heading. */
  paths?: readonly string[];
  /** Above the heading: what the page is part of. */
  part?: string;
  intro?: Content;
  body: Content;
  /** The headings of the page; beside it where there is space, folded above it elsewhere. */
  headings?: readonly Heading[];
  /** The text of the search field. */
  query?: string;
};

/** A page of the documentation, which everybody may read. */
export function docsLayout(page: DocsPage, contents: Contents): string {
  const { title, path, paths = [], part, intro, body, headings = [], query = '' } = page;
  const isReference = path.startsWith('/docs/api');
  const hasContents = headings.length > 2;
  // Twice, of which one is shown: folded where it is narrow, and else in a region that scrolls by itself, which needs links
  // that are not in a fold.
  const links = isReference ? referenceLinks(path, contents) : guideLinks(path, contents);
  return htmlDocument(
    { title: path === '/docs' ? title : `${[title, ...paths.slice(0, 1)].join(' ')} – Docs` },
    html`<body class="dashboard docs">
<a class="skip" href="#main">Skip to the content</a>
<header class="bar"><a class="brand" href="/">${logo}${PRODUCT}</a>
<nav class="bar-links" aria-label="${PRODUCT}"><a href="/docs"${!isReference && html` aria-current="true"`}>Guides</a><a href="/docs/api"${isReference && html` aria-current="true"`}>API reference</a><a href="/dashboard">Dashboard</a></nav>
<form class="bar-search" role="search" method="get" action="/docs/search"><label class="visually-hidden" for="docs-q">Search the documentation</label><input id="docs-q" name="q" type="search" value="${query}" placeholder="Search" aria-keyshortcuts="Control+K Meta+K" autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="200"><div class="bar-results" id="bar-results" tabindex="-1" data-docs-results></div></form></header>
<div class="frame">
<nav class="side" aria-label="Documentation"><details class="side-fold"><summary>Menu</summary>${links}</details><div class="side-open">${links}</div></nav>
<main id="main" tabindex="-1"${hasContents && html` class="has-contents"`}>
<div class="docs-page">
<div class="heading"><div>${part !== undefined && html`<p class="part">${part}</p>`}<h1>${title}</h1>${paths.length > 0 && html`<p class="paths-of">${pathsView(paths)}</p>`}</div></div>
${intro}
${hasContents && html`<nav class="contents" aria-label="On this page"><details class="contents-fold"><summary>On this page</summary><ul>${headings.map(({ level, id, text }) => html`<li class="${`level-${level}`}"><a href="#${id}">${text}</a></li>`)}</ul></details></nav>`}
<div class="docs-body">${body}</div>
<p class="hint">${PRODUCT} ${VERSION}</p>
</div>
</main>
</div>
</body>`,
    HEAD_OF_DOCS,
  );
}

function link(path: string, href: string, title: Content): Html {
  return html`<li><a href="${href}"${href === path && html` aria-current="page"`}>${title}</a></li>`;
}

function guideLinks(path: string, { guides }: Contents): Content {
  const { guide = [], background = [] } = Object.groupBy(guides, ({ kind }) => kind);
  const sections = Map.groupBy(guide, ({ section }) => section);
  const lists = [...sections].map(([section, entries], i) => {
    const links = entries.map(({ href, title }) => link(path, href, title));
    return html`<h2>${section}</h2><ul>${i === 0 && link(path, '/docs', 'Start here')}${links}</ul>`;
  });
  return html`${lists}
<h2>Background</h2><ul>${background.map(({ href, title }) => link(path, href, title))}${link(path, '/docs/adr', 'Decisions')}</ul>`;
}

function referenceLinks(path: string, { topics }: Contents): Content {
  const entries = topics.map(({ name, pages }) => {
    const [first] = pages;
    if (pages.length === 1 && first !== undefined) return link(path, first.hrefs[0], name);
    const links = pages.map(({ hrefs, paths }) => link(path, hrefs[0], html`<code>${paths[0]}</code>`));
    return html`<li><span class="group">${name}</span><ul>${links}</ul></li>`;
  });
  return html`<h2>API reference</h2><ul>${link(path, '/docs/api', 'All operations')}${entries}</ul>`;
}
