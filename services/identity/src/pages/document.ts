import { centeredPage, type PageParts, htmlDocument as wholeDocument } from '@gatehouse/web/document';
import { type Content, type Html, html } from '@gatehouse/web/html';
import { stylesheet } from './stylesheet.ts';

const HEAD = { stylesheets: [stylesheet.path] };

/** A page outside the account, for one thing to do or to read. Its heading is the title unless there is another. */
export function standalonePage(page: PageParts & { heading?: string; body: Content }): string {
  const { heading = page.title, body } = page;
  return centeredPage({ ...page, body: html`<h1>${heading}</h1>\n${body}` }, HEAD);
}

/** The document around a `<body>`. */
export function htmlDocument(page: PageParts, body: Html): string {
  return wholeDocument(page, body, HEAD);
}
