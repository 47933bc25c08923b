import { type Content, type Html, html, render } from './html.ts';
import { gateIllustration, logo } from './illustrations.ts';
import { stylesheet } from './stylesheet.ts';

/** The name on every page and in every title. */
export const PRODUCT = 'Gatehouse';

/** A page outside the account, for one thing to do or to read: an illustration on one side, `body` on the other. */
export function standalonePage(page: { title: string; failed?: boolean; body: Content }): string {
  return htmlDocument(
    page,
    html`<body class="gate">
<header class="front"><div class="view"><p class="brand">${logo}${PRODUCT}</p>${gateIllustration}</div></header>
<main>${page.body}</main>
</body>`,
  );
}

/** The document around a `<body>`. `failed` puts an error into the title, which screen readers announce first. */
export function htmlDocument(page: { title: string; failed?: boolean }, body: Html): string {
  return render(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${page.failed && 'Error: '}${page.title} – ${PRODUCT}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${stylesheet.path}">
</head>
${body}
</html>
`);
}
