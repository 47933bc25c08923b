import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { centeredPage } from './document.ts';
import { html } from './html.ts';
import { SHARED_STYLES } from './stylesheet.ts';

/** Where a reader can go on; `rel` is a registered relation type (RFC 8288 §2.1), for programs. */
export type Link = { rel: string; href: string; title: string };

/** Where to go on from an address that is unknown. */
export const LINKS: readonly Link[] = [
  { rel: 'home', href: '/', title: 'About Gatehouse' },
  { rel: 'related', href: '/dashboard', title: 'Developer dashboard' },
  { rel: 'service-doc', href: '/docs', title: 'Documentation' },
  { rel: 'related', href: '/account', title: 'Your account' },
];

/** Inside the page, since a process without such a path may serve no stylesheet either. */
const style = SHARED_STYLES.map((file) => readFileSync(file, 'utf8')).join('\n');
const styleHash = createHash('sha256').update(style).digest('base64');

/** The headers of the page: nothing but the style inside, in no frame, never stored. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    `default-src 'none'; style-src 'sha256-${styleHash}'; img-src data:; ` +
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
} as const;

/** For a person whose address is mistyped or out of date. */
export function notFoundPage(requestId: string, links: readonly Link[]): string {
  const page = centeredPage(
    {
      title: 'Page not found',
      body: html`<h1>Page not found</h1>
<p>The address may be mistyped, or the page was removed.</p>
${
  links.length === 0
    ? html`<p>Check the address, or go back to the previous page.</p>`
    : html`<ul class="cards">${links.map(({ href, title }) => html`<li><a class="card" href="${href}">${title}</a></li>`)}</ul>`
}
<p class="hint">Request ${requestId}</p>`,
    },
    { stylesheets: [] },
  );
  return page.replace('</head>', () => `<style>${style}</style>\n</head>`);
}
