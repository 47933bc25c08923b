import { type Html, html } from '@gatehouse/web/html';
import type { Application, AppType } from '../../../api/application-types.ts';
import { codeBlock, copyable } from '../../../pages/parts.ts';
import { API_KEY } from './api-key-snippets.ts';
import type { Framework } from './frameworks.ts';
import { MACHINE } from './machine.ts';
import { BROWSER, NATIVE } from './public.ts';
import { RESOURCE } from './resource.ts';
import { RUN, type Sample, SET_SECRET, type Snippet } from './sample.ts';
import { WEB } from './web.ts';

/** Complete programs for each way to use an application of a type, and for an API key. */
export const SNIPPETS: Readonly<Record<AppType | 'api_key', readonly Snippet[]>> = {
  machine: MACHINE,
  web: WEB,
  spa: BROWSER,
  native: NATIVE,
  resource: RESOURCE,
  api_key: API_KEY,
};

/** The values of an application in its programs. */
export function sampleOf(
  base: string,
  { client_id: clientId, redirect_uris: uris, scopes }: Application,
  secret?: string,
): Sample {
  const sample = { base, clientId, redirectUri: uris[0] ?? '', scope: scopes.join(' ') };
  return secret === undefined ? sample : { ...sample, secret };
}

/** A program and what to do to run it. The id of its element must be unique on the page. */
export function snippetView(elementId: string, { steps, code }: Snippet, sample: Sample): Html {
  const left = sample.secret === undefined ? steps : steps.filter((step) => step !== SET_SECRET);
  return html`${left.length > 0 && html`<ol>${left.map(stepView(elementId))}</ol>`}${codeBlock(elementId, code(sample).text)}`;
}

/** The steps, one at a time; a command can be copied. */
const stepView = (id: string) => (step: string, at: number) =>
  html`<li>${step.startsWith(RUN) ? html`Run: ${copyable(`${id}-step-${at}`, step.slice(RUN.length))}` : step}</li>`;

/** The files of an application in a framework, and what to do to run it. */
export function frameworkView(
  { steps, callback, files }: Framework,
  sample: Sample,
  { redirect_uris: uris }: Application,
): Html {
  const own = callback && URL.parse(callback, sample.redirectUri)?.href;
  const added =
    own &&
    !uris.includes(own) &&
    html`<li>Add the redirect URI of the framework to the settings of the application: ${copyable('own-redirect', own)}</li>`;
  return html`<ol>${added}${steps.map(stepView('step'))}</ol>
${Object.entries(files(sample)).map(([name, code], i) => html`<h3><code>${name}</code></h3>${codeBlock(`code-${i}`, code.text.trim())}`)}`;
}
