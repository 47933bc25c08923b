import { appearance } from './appearance.ts';
import { brand, brandMark } from './brand.ts';
import { type Content, type Html, html, render } from './html.ts';
import { gateIllustration } from './illustrations.ts';
import { language, t, translated } from './language.ts';

/** The name of the product. */
export const PRODUCT = 'Gatehouse';

/** The icon of every page, as the content of a URL `data:image/svg+xml,…`. */
export const ICON = encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path d="M3 31V15a13 13 0 0 1 26 0v16z" fill="#0b5a4f"/><path d="M11 31V16a5 5 0 0 1 10 0v15z" fill="#f6e6c0"/></svg>',
);

/** The head of a page: the paths of its stylesheets, and of scripts that run when it has been read. */
export type Head = {
  stylesheets: readonly string[];
  scripts?: readonly string[];
  /** Further `<meta>` elements by their names. */
  meta?: Readonly<Record<string, string>>;
};

/** The parts of every page. `failed` puts an error into the title, which screen readers announce first. */
export type PageParts = { title: string; failed?: boolean | undefined };

/** A page for one thing to do or to read: an illustration on one side, `body` on the other. */
export function centeredPage(page: PageParts & { body: Content }, head: Head): string {
  return htmlDocument(
    page,
    html`<body class="gate">
<header class="front"><div class="view"><p class="brand">${brandMark()}</p>${gateIllustration}</div></header>
<main>${page.body}${brandLinks()}</main>
</body>`,
    head,
  );
}

/** The links of a deployment, at the end of a page. */
export function brandLinks(): Content {
  const { links = [] } = brand();
  return (
    links.length > 0 &&
    html`<p class="brand-links">${links.map(({ text, url }) => html`<a href="${url}">${translated(text)}</a> `)}</p>`
  );
}

/** The document around a `<body>`. */
export function htmlDocument(page: PageParts, body: Html, head: Head): string {
  const { stylesheets, scripts = [], meta = {} } = head;
  const { tag, direction } = language();
  const { theme, timeZone } = appearance();
  const { name: owner, logo: picture, stylesheets: own = [] } = brand();
  const title = `${page.title} – ${owner}`;
  return render(html`<!doctype html>
<html lang="${tag}"${direction === 'rtl' && html` dir="rtl"`}${theme !== undefined && html` data-theme="${theme}"`}${timeZone !== undefined && html` data-time-zone="${timeZone}"`}>
<head>
<meta charset="utf-8">
<title>${page.failed ? t('Error: {title}', { title }) : title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="${theme ?? 'light dark'}">
<meta name="robots" content="noindex">
<meta name="referrer" content="no-referrer">
${picture === undefined ? html`<link rel="icon" href="data:image/svg+xml,${ICON}">` : html`<link rel="icon" href="data:image/png;base64,${picture}">`}
${Object.entries(meta).map(([name, content]) => html`<meta name="${name}" content="${content}">`)}${[...stylesheets.slice(0, 1), ...own, ...stylesheets.slice(1)].map((path) => html`<link rel="stylesheet" href="${path}">`)}${scripts.map((path) => html`<script defer src="${path}"></script>`)}
</head>
${body}
</html>
`);
}
