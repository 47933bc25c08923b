import { type Content, html } from '@gatehouse/web/html';
import { methodTag } from '../reference/operation-view.ts';
import type { Found } from '../search/search.ts';
import type { DocsPage } from './layout.ts';

/** How much of a section is shown around the first word that was found, in characters. */
const BEFORE = 60;
const LENGTH = 220;

export function searchPage(query: string, found: readonly Found[]): DocsPage {
  const isAsked = query !== '';
  const count = found.length === 1 ? '1 result' : `${found.length === 0 ? 'No' : found.length} results`;
  return {
    title: isAsked ? `Search: ${query}` : 'Search',
    path: '/docs/search',
    query,
    body: html`<div id="found">${isAsked && html`<p class="count" role="status">${count}</p>`}
${
  found.length > 0
    ? html`<ol class="found">${found.map(resultView)}</ol>`
    : html`<div class="empty"><p>${isAsked ? html`<strong>No page matches your search.</strong> Try other words,` : 'Enter a word in the search field above,'} or look through the <a href="/docs">guides</a> and the <a href="/docs/api">API reference</a>.</p></div>`
}</div>`,
  };
}

function resultView({ href, title, place, text, operation, words }: Found): Content {
  return html`<li><a href="${href}">${operation !== undefined && methodTag(operation.method)} ${marked(title, words)}</a>
<p class="place">${place}${operation !== undefined && html` · <code>${operation.path}</code>`}</p>
<p>${marked(excerpt(text, words), words)}</p></li>`;
}

function excerpt(text: string, words: readonly string[]): string {
  if (text.length <= LENGTH) return text;
  const place = patternOf(words)?.exec(text)?.index ?? 0;
  const start = place < BEFORE ? 0 : text.indexOf(' ', place - BEFORE) + 1;
  const cut = text.slice(start, start + LENGTH);
  return `${start > 0 ? '… ' : ''}${cut.slice(0, cut.lastIndexOf(' '))} …`;
}

/** With the words that were found marked. */
function marked(text: string, words: readonly string[]): Content {
  const pattern = patternOf(words);
  if (pattern === undefined) return text;
  return text.split(pattern).map((part, i) => (i % 2 === 1 ? html`<mark>${part}</mark>` : part));
}

function patternOf(words: readonly string[]): RegExp | undefined {
  const alternatives = words.map(escaped).sort((a, b) => b.length - a.length);
  return alternatives.length === 0
    ? undefined
    : // Words are found without the s of a plural.
      new RegExp(`(?<![\\p{L}\\p{N}])((?:${alternatives.join('|')})s?)`, 'iu');
}

function escaped(word: string): string {
  return word.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}
