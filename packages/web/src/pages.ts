import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Where a reader can go on; `rel` is a registered relation type (RFC 8288 §2.1), for programs. */
export type Link = { rel: string; href: string; title: string };

/** Where to go on from an address that is unknown. */
export const LINKS: readonly Link[] = [
  { rel: 'home', href: '/', title: 'What Gatehouse is' },
  { rel: 'related', href: '/dashboard', title: 'Developer dashboard' },
  { rel: 'service-doc', href: '/docs', title: 'Documentation' },
  { rel: 'related', href: '/account', title: 'Your account' },
];

const PRODUCT = 'Gatehouse';
/** The icon of every page, as the content of a URL `data:image/svg+xml,…`. */
export const ICON = encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path d="M3 31V15a13 13 0 0 1 26 0v16z" fill="#0b5a4f"/><path d="M11 31V16a5 5 0 0 1 10 0v15z" fill="#f6e6c0"/></svg>',
);

const style = readFileSync(new URL('./page.css', import.meta.url), 'utf8');
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
  return page(
    'Page not found',
    `<h1>Page not found</h1>
<p>The address may be mistyped, or the page was removed.</p>
${links.length === 0 ? '<p>Check the address, or go back to the previous page.</p>' : list(links)}
<p class="request">Request ${escaped(requestId)}</p>`,
  );
}

function list(links: readonly Link[]): string {
  const items = links.map(({ href, title }) => `<li><a href="${escaped(href)}">${escaped(title)}</a></li>`);
  return `<ul>\n${items.join('\n')}\n</ul>`;
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title} – ${PRODUCT}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<link rel="icon" href="data:image/svg+xml,${ICON}">
<style>${style}</style>
</head>
<body>
<header><p>${PRODUCT}</p>${GATE}</header>
<main>
${body}
</main>
</body>
</html>
`;
}

/** Arches one behind the other, and the light at the end. Without the style it has no size, and so does not show. */
const GATE = `<svg viewBox="0 0 400 440" preserveAspectRatio="xMidYMin slice" width="0" height="0" aria-hidden="true">${[
  'M148 440V200a52 52 0 0 1 104 0V440z',
  ...[68, 102, 136, 170].map((r) => `M${200 - r} 440V200a${r} ${r} 0 0 1 ${2 * r} 0V440`),
]
  .map((d) => `<path d="${d}"/>`)
  .join('')}</svg>`;

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
