import { centeredPage, type PageParts, htmlDocument as wholeDocument } from '@gatehouse/web/document';
import { type Content, type Html, html, render } from '@gatehouse/web/html';
import { t } from '../texts/texts.ts';
import type { RequestingApplication } from './requesting-application.ts';
import { passwordScript, stylesheet } from './stylesheet.ts';

const stylesheets = [stylesheet.path];

/** A page outside the account, for one thing to do or to read. Its heading is the title unless there is another. */
export function standalonePage(
  page: PageParts & {
    heading?: string;
    scripts?: readonly string[];
    /** The application whose accent the page has. */
    application?: Pick<RequestingApplication, 'accent'> | undefined;
    /** Whether it is only to be looked at. */
    isPreview?: boolean | undefined;
    body: Content;
  },
): string {
  const { heading = page.title, body, scripts = [], application, isPreview } = page;
  const accents = application?.accent === undefined ? [] : [application.accent];
  const preview = html`<p class="notice">${t('This is a preview. Its fields and buttons do not work.')}</p>
<article inert>${body}</article>`;
  return centeredPage(
    { ...page, body: html`<h1>${heading}</h1>\n${isPreview ? preview : body}` },
    { stylesheets: [...stylesheets, ...accents], scripts: [...scripts, ...scriptsOf(html`${body}`)] },
  );
}

/** The document around a `<body>`, with the scripts at these paths. */
export function htmlDocument(page: PageParts, body: Html, scripts: readonly string[] = []): string {
  return wholeDocument(page, body, { stylesheets, scripts: [...scripts, ...scriptsOf(body)] });
}

function scriptsOf(body: Html): string[] {
  return render(body).includes(' type="password"') ? [passwordScript.path] : [];
}
