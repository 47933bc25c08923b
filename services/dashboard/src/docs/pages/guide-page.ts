import { html } from '@gatehouse/web/html';
import type { Guide } from '../guides/library.ts';
import type { Contents, DocsPage } from './layout.ts';

const PARTS = { guide: 'Guides', background: 'Background', decision: 'Decisions' };

/** A guide, and the ones before and after it. */
export function guidePage(guide: Guide, { guides }: Contents): DocsPage {
  const { title, href, body, headings, kind } = guide;
  const same = guides.filter((it) => it.kind === kind);
  const [before, after] = [same[same.indexOf(guide) - 1], same[same.indexOf(guide) + 1]];
  return {
    title,
    path: href,
    part: PARTS[kind],
    headings,
    body: html`<article class="prose-page">${body}</article>
<nav class="turn" aria-label="Further guides">${before !== undefined && html`<a class="before" href="${before.href}"><span>Before</span>${before.title}</a>`}${after !== undefined && html`<a class="after" href="${after.href}"><span>Next</span>${after.title}</a>`}</nav>`,
  };
}
