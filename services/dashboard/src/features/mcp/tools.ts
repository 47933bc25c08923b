import type { Tool } from '@modelcontextprotocol/server';
import type { ProbeRequest } from '../../api/api.ts';
import { queryText } from '../../api/api.ts';
import type { OpenApiDocument, Operation, Parameter, Schema } from '../../docs/openapi/document.ts';
import type { Located } from '../../docs/reference/operation-view.ts';
import { topicsOf } from '../../docs/reference/topics.ts';

/** The arguments of a call, by their names in the tool's schema. */
export type Arguments = Readonly<Record<string, unknown>>;

/** An operation of the API as a tool. */
export type ApiTool = {
  definition: Tool;
  located: Located;
  reads: boolean;
  /** Whether it cannot be undone, so that the person has to send the request. */
  isDestructive: boolean;
  /** Whether a token with these scopes may call the operation. */
  isFor(scopes: ReadonlySet<string>): boolean;
  /** The request of a call. Throws a TypeError with a message for the agent if the arguments are not valid. */
  requestOf(args: Arguments): ProbeRequest;
  /** The query of the page on which the person sends the request. It does not have the body, which may contain secrets. */
  pageQueryOf(args: Arguments): string;
};

const JSON_TYPE = 'application/json';
const SCHEMAS = '#/components/schemas/';

/**
 * The operations that a token of an application may call, each at one of its paths. Operations without a credential or without JSON are no
 * tools, nor are those for Gatehouse's own tokens only.
 */
export function toolsOf(document: OpenApiDocument): ReadonlyMap<string, ApiTool> {
  const operations = topicsOf(document).flatMap(({ pages }) => pages.flatMap((page) => page.operations));
  const tools = operations.filter(isCallable).map((located) => toolOf(document, located));
  return new Map(tools.map((tool) => [tool.definition.name, tool]));
}

const alternativesOf = ({ security = [] }: Operation) =>
  security.flatMap(({ oauth2 }) => (oauth2 === undefined ? [] : [oauth2]));

function isCallable({ operation }: Located): boolean {
  const { requestBody } = operation;
  const isJson = requestBody === undefined || JSON_TYPE in requestBody.content;
  return isJson && alternativesOf(operation).length > 0;
}

function toolOf(document: OpenApiDocument, located: Located): ApiTool {
  const { method, operation } = located;
  const { operationId, summary, description, requestBody } = operation;
  const reads = method === 'get';
  const isDestructive = method === 'delete';
  const alternatives = alternativesOf(operation);
  const parameters = (operation.parameters ?? []).filter(({ deprecated }) => deprecated !== true);
  const isNeeded = ({ in: place, required }: Parameter) => place === 'path' || required === true;
  const body = requestBody?.content[JSON_TYPE]?.schema;
  const properties = {
    ...Object.fromEntries(parameters.map((it) => [argumentOf(it), describedSchema(it)])),
    ...(body === undefined ? {} : { body }),
  };
  const required = [
    ...parameters.filter(isNeeded).map(argumentOf),
    ...(requestBody?.required === true ? ['body'] : []),
  ];
  return {
    ...{ located, reads, isDestructive },
    definition: {
      name: operationId,
      title: summary,
      description: description === undefined ? summary : `${summary}. ${description}`,
      inputSchema: withDefinitions(document, { type: 'object', properties, required }),
      annotations: {
        readOnlyHint: reads,
        ...(reads ? {} : { destructiveHint: isDestructive, idempotentHint: method !== 'post' }),
        openWorldHint: false,
      },
    },
    isFor: (scopes) => alternatives.some((needed) => needed.every((scope) => scopes.has(scope))),
    requestOf: (args) => requestOf(located, parameters, args),
    pageQueryOf: (args) =>
      queryText(
        Object.fromEntries(
          parameters
            .filter((it) => it.in !== 'header')
            .map((it) => [`${it.in}.${it.name}`, textOf(args[argumentOf(it)])] as const),
        ),
      ),
  };
}

function requestOf(
  { method, path }: Located,
  parameters: readonly Parameter[],
  args: Arguments,
): ProbeRequest {
  const given = (place: string): [name: string, value: string][] =>
    parameters.flatMap((it) => {
      const value = textOf(args[argumentOf(it)]);
      return it.in === place && value !== undefined ? [[it.name, value]] : [];
    });
  const inPath = new Map(given('path'));
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = inPath.get(name) ?? '';
    // These values would make another path.
    if (/^\.{0,2}$/.test(value)) throw new TypeError(`${name} must be an id`);
    return encodeURIComponent(value);
  });
  const headers = Object.fromEntries(given('header'));
  if (!Object.values(headers).every((value) => /^[ -~]*$/.test(value)))
    throw new TypeError('headers must consist of printable ASCII characters');
  const request = {
    method: method.toUpperCase(),
    path: `${address}${queryText(Object.fromEntries(given('query')))}`,
  };
  if (args.body === undefined) return { ...request, headers };
  return { ...request, headers: { 'content-type': JSON_TYPE, ...headers }, body: JSON.stringify(args.body) };
}

/** The name of an argument, in characters that clients accept: `filter[status][gte]` becomes filter_status_gte. */
function argumentOf({ name }: Parameter): string {
  return name.replaceAll(/[^\w.-]+/g, '_').replace(/_$/, '');
}

function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return Array.isArray(value) ? value.map(String).join(',') : String(value);
}

function describedSchema({ schema = { type: 'string' }, description }: Parameter): Schema {
  return description === undefined ? schema : { ...schema, description };
}

/** A schema with the components that it refers to, so that it stands alone. */
function withDefinitions(
  document: OpenApiDocument,
  schema: Schema & { type: 'object' },
): Tool['inputSchema'] {
  const definitions = new Map<string, unknown>();
  function inlined(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(inlined);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => {
        if (key !== '$ref' || typeof inner !== 'string' || !inner.startsWith(SCHEMAS))
          return [key, inlined(inner)];
        const name = inner.slice(SCHEMAS.length);
        if (!definitions.has(name)) {
          definitions.set(name, undefined);
          definitions.set(name, inlined(document.components?.schemas?.[name]));
        }
        return [key, `#/$defs/${name}`];
      }),
    );
  }
  const whole = inlined(schema) as Tool['inputSchema'];
  return definitions.size === 0 ? whole : { ...whole, $defs: Object.fromEntries(definitions) };
}
