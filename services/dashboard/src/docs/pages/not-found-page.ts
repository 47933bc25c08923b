import { html } from '@gatehouse/ui/html';
import type { DocsPage } from './layout.ts';

/** There is no such page below /docs. */
export function notFoundPage(): DocsPage {
  return {
    title: 'There is no such page',
    path: '',
    body: html`<p>The address may be mistyped, or the page is gone. Search for it above, or look through the <a href="/docs">guides</a> and the <a href="/docs/api">API reference</a>.</p>`,
  };
}
