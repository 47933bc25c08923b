import { centeredPage, type PageParts, htmlDocument as wholeDocument } from '@gatehouse/web/document';
import type { Content, Html } from '@gatehouse/web/html';
import { stylesheet } from './stylesheet.ts';

const HEAD = { stylesheets: [stylesheet.path] };

/** A page outside the account, for one thing to do or to read. */
export function standalonePage(page: PageParts & { body: Content }): string {
  return centeredPage(page, HEAD);
}

/** The document around a `<body>`. */
export function htmlDocument(page: PageParts, body: Html): string {
  return wholeDocument(page, body, HEAD);
}
