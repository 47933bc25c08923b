import { html } from '@gatehouse/web/html';
import type { DocsPage } from './layout.ts';

/** There is no such page below /docs. */
export function notFoundPage(): DocsPage {
  return {
    title: 'Page not found',
    path: '',
    body: html`<p>The address may be mistyped, or the page was removed. Search for it above, or look through the <a href="/docs">guides</a> and the <a href="/docs/api">API reference</a>.</p>`,
  };
}
