import { type Content, type Html, html } from '@gatehouse/web/html';
import { renderMarkdown } from '../guides/markdown.ts';
import { nameOf, type OpenApiDocument, resolve, type Schema } from '../openapi/document.ts';

/** Deeper parts are named, and not shown. */
const MAX_DEPTH = 5;
/** Longer patterns are for programs. */
const MAX_PATTERN = 60;
/** Longer lists of values are folded, and begin with so many. */
const MAX_CHOICES = 12;
const MAX_SHOWN = 8;

/** Where a schema stands: in what is sent, or in what is returned. */
export type Place = { document: OpenApiDocument; side: 'sent' | 'returned' };

/** The fields of a value, and theirs below them. */
export function schemaView(place: Place, schema: Schema, seen: readonly string[] = []): Content {
  const { inner, names } = unfold(place.document, schema, seen);
  if (inner === undefined) return undefined;
  const alternatives = inner.oneOf ?? inner.anyOf;
  if (alternatives !== undefined && !alternatives.every(isPlain)) {
    return html`<ul class="schema-choices">${alternatives.map(
      (it) => html`<li><span class="schema-type">${typeText(it)}</span>${schemaView(place, it, names)}</li>`,
    )}</ul>`;
  }
  if (inner.items !== undefined) return schemaView(place, inner.items, names);
  const { properties, required = [], additionalProperties } = inner;
  if (properties === undefined) {
    return typeof additionalProperties === 'object'
      ? schemaView(place, additionalProperties, names)
      : undefined;
  }
  return html`<ul class="fields-of">${Object.entries(properties).map(
    ([name, property]) =>
      html`<li>${fieldView(place, name, property, required.includes(name))}${nested(place, property, names)}</li>`,
  )}</ul>`;
}

/** The name and type of a field or parameter, what it is for, and what limits it. */
export function fieldView(
  { document, side }: Place,
  name: string,
  schema: Schema,
  isRequired: boolean,
  more: { description?: string | undefined; deprecated?: boolean | undefined } = {},
): Html {
  const { inner = {} } = unfold(document, schema, []);
  const description = more.description ?? schema.description ?? inner.description;
  const limits = limitsOf({ ...inner, ...schema });
  // The usual case of a side is not marked.
  const mark =
    side === 'sent'
      ? isRequired && html` <span class="required">required</span>`
      : !isRequired && html` <span class="schema-type">optional</span>`;
  const isDeprecated = more.deprecated ?? schema.deprecated ?? false;
  return html`<div class="field-line"><code class="field-name">${name}</code> <span class="schema-type">${typeText(schema)}</span>${mark}${isDeprecated && html` <span class="status is-quiet">deprecated</span>`}</div>
${description !== undefined && html`<div class="field-text">${renderMarkdown(description).body}</div>`}
${limits.length > 0 && html`<div class="field-limits">${limits}</div>`}`;
}

function nested(place: Place, schema: Schema, seen: readonly string[]): Content {
  const content = schemaView(place, schema, seen);
  const name = nameOf(schema.items ?? schema);
  return (
    content &&
    html`<details class="nested"><summary>Fields${name !== undefined && html` of <code>${name}</code>`}</summary>${content}</details>`
  );
}

/** The schema that a reference points to, and the names on the way; nothing where it would be circular or too deep. */
function unfold(document: OpenApiDocument, schema: Schema, seen: readonly string[]) {
  const name = nameOf(schema);
  if (name === undefined)
    return { inner: seen.length > MAX_DEPTH ? undefined : schema, names: [...seen, ''] };
  if (seen.includes(name) || seen.length > MAX_DEPTH) return { inner: undefined, names: seen };
  return { inner: resolve(document, schema as Schema & object), names: [...seen, name] };
}

/** Whether there is nothing to unfold. */
function isPlain({ $ref, properties, items, oneOf, anyOf }: Schema): boolean {
  return [$ref, properties, items, oneOf, anyOf].every((it) => it === undefined);
}

/** Such as "string", "list of Order" or "integer or null". */
export function typeText(schema: Schema): string {
  const name = nameOf(schema);
  if (name !== undefined) return name;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (alternatives !== undefined) {
    return [...new Set(alternatives.map((it) => typeText(it)))].join(' or ');
  }
  const types = [schema.type ?? 'any value'].flat();
  const described = types.map((type) => {
    if (type === 'array') return schema.items === undefined ? 'list' : `list of ${typeText(schema.items)}`;
    return type;
  });
  const format = schema.format === undefined ? '' : ` (${schema.format})`;
  return described.join(' or ') + format;
}

function limitsOf(schema: Schema): Content[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, minLength, maxLength, minItems, maxItems } =
    schema;
  const isShort = (schema.pattern?.length ?? Number.POSITIVE_INFINITY) <= MAX_PATTERN;
  return [
    schema.enum !== undefined && choices(schema.enum),
    range(minLength, maxLength, 'characters'),
    range(minItems, maxItems, 'entries'),
    range(minimum, maximum, ''),
    exclusiveMinimum !== undefined && html`<span>More than ${exclusiveMinimum}</span>`,
    exclusiveMaximum !== undefined && html`<span>Less than ${exclusiveMaximum}</span>`,
    isShort && html`<span>Pattern <code>${schema.pattern}</code></span>`,
    schema.default !== undefined && html`<span>Default <code>${JSON.stringify(schema.default)}</code></span>`,
  ].filter((it) => it !== false);
}

/** The first of many, as the currencies of the world would fill a screen. */
function choices(values: readonly unknown[]): Html {
  const listed = (some: readonly unknown[]) =>
    some.map((value, i) => html`${i > 0 && ', '}<code>${JSON.stringify(value)}</code>`);
  if (values.length <= MAX_CHOICES) return html`<span>One of ${listed(values)}</span>`;
  return html`<details><summary>One of ${values.length} values: ${listed(values.slice(0, MAX_SHOWN))}, …</summary>
<p>${listed(values)}</p></details>`;
}

function range(from: number | undefined, to: number | undefined, unit: string): Content {
  if (from === undefined && to === undefined) return false;
  const text =
    from === undefined
      ? `At most ${to}`
      : to === undefined
        ? `At least ${from}`
        : from === to
          ? `${from}`
          : `${from} to ${to}`;
  return html`<span>${`${text} ${unit}`.trim()}</span>`;
}
