import { type Html, html, type Content as Markup } from '@gatehouse/web/html';
import { highlight } from '../../pages/highlight.ts';
import { codeBlock, httpStatusTag } from '../../pages/parts.ts';
import { renderMarkdown } from '../guides/markdown.ts';
import {
  type Content,
  nameOf,
  type OpenApiDocument,
  type Operation,
  type Parameter,
  type Response,
  resolve,
  type Schema,
} from '../openapi/document.ts';
import { samplesOf } from './samples.ts';
import { fieldView, type Place, schemaView, typeText } from './schema-view.ts';

/** An operation with its place in the document, and other paths at which it is the same. */
export type Located = { method: string; path: string; aliases?: readonly string[]; operation: Operation };
type Shape = { name: string; schema: Schema; example: unknown };

/** One operation: what it takes and returns on one side, a request and its response on the other. */
export function operationView(document: OpenApiDocument, located: Located): Html {
  const { method, path, aliases, operation } = located;
  const { operationId: id, description, parameters = [], requestBody, responses } = operation;
  const { summary, profiles } = profilesOf(operation);
  const documented = Object.entries(responses).map(([status, it]) => ({
    status,
    response: resolve<Response>(document, it),
  }));
  const errors = documented.filter(({ status }) => Number(status) >= 400);
  const successes = documented.filter(({ status }) => Number(status) < 400);
  return html`<section class="operation">
<div class="operation-text">
<h2 id="${id}"><a class="anchor" href="#${id}">${summary}</a></h2>
${route(method, path, aliases)}
<p class="badges">${profiles.map((name) => html`<span class="tag">Profile ${name}</span>`)}<span class="tag is-access">${accessText(operation)}</span></p>
${description !== undefined && renderMarkdown(description).body}
${parameters.length > 0 && html`<h3>Parameters</h3>${parameterList(document, parameters)}`}
${requestBody !== undefined && html`<h3>Body</h3>${shapesView({ document, side: 'sent' }, requestBody.content)}`}
<h3>Responses</h3>
${successes.map(({ status, response }) => responseView(document, status, response))}
${errorList(id, errors)}
</div>
<div class="operation-code">
<h3>Request</h3>
${requestSamples(document, located)}
<p><a class="button secondary" href="/dashboard/try/${encodeURIComponent(id)}">Try it<span class="visually-hidden">: ${summary}</span></a></p>
${requestBody !== undefined && furtherExamples(id, 'body', shapesOf(requestBody.content).slice(1))}
${successes.flatMap(({ status, response }) => responseExamples(id, status, response))}
</div>
</section>`;
}

/** The request in each language; the first one is open. */
function requestSamples(document: OpenApiDocument, { method, path, operation }: Located): Markup {
  const { operationId } = operation;
  return samplesOf(document, method, path, operation).map(({ id, label, grammar, code }, i) => {
    const block = codeBlock(`${operationId}-${id}`, highlight(code, grammar));
    return i === 0 ? block : html`<details class="nested"><summary>${label}</summary>${block}</details>`;
  });
}

/** The method and path on one line. */
export function route(method: string, path: string, aliases: readonly string[] = []): Html {
  return html`<p class="route">${methodTag(method)} ${pathsView([path, ...aliases])}</p>`;
}

/** A path, and others for the same. */
export function pathsView([path, ...aliases]: readonly string[]): Markup {
  return html`<span class="paths"><code>${path}</code>${aliases.map((alias) => html` <span class="alias">or <code>${alias}</code></span>`)}</span>`;
}

export function methodTag(method: string): Html {
  return html`<span class="method is-${method}">${method.toUpperCase()}</span>`;
}

/** The summary, and the profiles that stand at its end in brackets. */
export function profilesOf({ summary }: Operation): { summary: string; profiles: readonly string[] } {
  const [, text = summary, names] = /^(.*) \(([\w, ]+)\)$/.exec(summary) ?? [];
  // "(RFC 8414)" is no profile.
  return names === undefined || names.startsWith('RFC')
    ? { summary, profiles: [] }
    : { summary: text, profiles: names.split(', ') };
}

function accessText({ security = [] }: Operation): string {
  if (security.some((it) => 'bearer' in it)) return 'Access token or API key';
  return security.some((it) => 'client_secret_basic' in it) ? 'Client credentials' : 'No credential';
}

/** The parameters, required and common ones first; filters and deprecated ones are folded. */
function parameterList(document: OpenApiDocument, parameters: readonly Parameter[]): Markup {
  const kindOf = (it: Parameter) =>
    it.deprecated ? 'old' : it.name.startsWith('filter[') ? 'filter' : 'plain';
  const { plain = [], filter = [], old = [] } = Object.groupBy(parameters, kindOf);
  const list = (those: readonly Parameter[]) =>
    html`<ul class="fields-of">${those.map((it) => {
      const { name, schema = {}, required = false, deprecated, description } = it;
      const place = it.in === 'query' ? undefined : html`<span class="field-limits">in the ${it.in}</span>`;
      return html`<li>${fieldView({ document, side: 'sent' }, name, schema, required, { description, deprecated })}${place}</li>`;
    })}</ul>`;
  const folded = (title: string, those: readonly Parameter[]) =>
    those.length > 0 &&
    html`<details class="nested"><summary>${title} (${those.length})</summary>${list(those)}</details>`;
  return [plain.length > 0 && list(plain), folded('Filters', filter), folded('Deprecated parameters', old)];
}

/** The possible shapes of a body, each with its example. */
function shapesOf(content: Content = {}): Shape[] {
  return Object.values(content)
    .slice(0, 1)
    .flatMap(({ schema = {}, example, examples = {} }) => {
      const flat = (it: Schema): Schema[] => (it.oneOf ?? it.anyOf)?.flatMap(flat) ?? [it];
      return flat(schema).map((it) => {
        const name = nameOf(it) ?? typeText(it);
        return { name, schema: it, example: example ?? examples[name]?.value };
      });
    });
}

function shapesView(place: Place, content: Content): Html {
  const types = Object.keys(content);
  const shapes = shapesOf(content);
  const [only] = shapes;
  const note = html`<p class="field-limits">${types.map((type, i) => html`${i > 0 && ' or '}<code>${type}</code>`)}${shapes.length > 1 && html`, in one of ${shapes.length} shapes`}</p>`;
  if (shapes.length === 1 && only !== undefined) return html`${note}${schemaView(place, only.schema)}`;
  return html`${note}${shapes.map(
    ({ name, schema }) =>
      html`<details class="nested"><summary><code>${name}</code></summary>${schemaView(place, schema)}</details>`,
  )}`;
}

function responseView(
  document: OpenApiDocument,
  status: string,
  { description, headers = {}, content }: Response,
): Html {
  const names = Object.keys(headers);
  return html`<div class="response"><p>${httpStatusTag(status)} ${description}</p>
${content !== undefined && shapesView({ document, side: 'returned' }, content)}
${names.length > 0 && html`<details class="nested"><summary>Headers (${names.length})</summary><ul class="fields-of">${Object.entries(headers).map(([name, it]) => html`<li><code class="field-name">${name}</code><p class="field-text">${it.description}</p></li>`)}</ul></details>`}</div>`;
}

function errorList(id: string, errors: readonly { status: string; response: Response }[]): Html | false {
  if (errors.length === 0) return false;
  return html`<details class="nested"><summary>Errors (${errors.length})</summary><ul class="fields-of">${errors.map(
    ({ status, response }) => {
      const { example } = Object.values(response.content ?? {})[0] ?? {};
      return html`<li><p>${httpStatusTag(status)} ${response.description}</p>${example !== undefined && jsonBlock(`${id}-${status}`, example)}</li>`;
    },
  )}</ul></details>`;
}

function responseExamples(id: string, status: string, { content }: Response): Markup[] {
  const [first, ...others] = shapesOf(content).filter(({ example }) => example !== undefined);
  if (first === undefined) return [];
  const title = html`<h3>Response ${status}${others.length > 0 && html` <code>${first.name}</code>`}</h3>`;
  return [title, jsonBlock(`${id}-${status}`, first.example), furtherExamples(id, status, others)];
}

function furtherExamples(id: string, kind: string, shapes: readonly Shape[]): Markup {
  return shapes
    .filter(({ example }) => example !== undefined)
    .map(
      ({ name, example }) =>
        html`<details class="nested"><summary><code>${name}</code></summary>${jsonBlock(`${id}-${kind}-${name}`, example)}</details>`,
    );
}

function jsonBlock(id: string, value: unknown): Html {
  const isText = typeof value === 'string';
  return codeBlock(id, isText ? value : highlight(JSON.stringify(value, null, 2), 'json'));
}
