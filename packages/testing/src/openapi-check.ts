import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { closedSchema, type Json } from './closed-schema.ts';

/** A real answer. `path` may carry a query; `body` is parsed when it is JSON, and undefined when there is none. */
export type RealAnswer = {
  method: string;
  path: string;
  status: number;
  headers: Headers | Readonly<Record<string, unknown>>;
  body: unknown;
};

type Media = Record<
  string,
  { schema?: Json; example?: unknown; examples?: Record<string, { value: unknown }> }
>;
type Response = { $ref?: string; headers?: Record<string, { required?: boolean }>; content?: Media };
type Operation = {
  operationId?: string;
  requestBody?: { content: Media };
  responses: Record<string, Response>;
};
/** As a schema says, or with whatever it does not name forbidden. */
type Way = 'open' | 'closed';
type Document = { paths: Record<string, Record<string, Operation>>; components?: Json };

/**
 * Checks real answers against an OpenAPI 3.1 document: the result gives one sentence for each thing that is not as
 * documented. Schemas must hold as they are written, and also with all objects closed, so that a field that is not
 * documented is found. What refuses an address that is not documented (400, 404, 405), and the answer to OPTIONS,
 * need not stand in the document.
 */
export function createOpenApiCheck(document: object): (answer: RealAnswer) => string[] {
  const { paths } = document as Document;
  const problemsOfBody = createBodyCheck(document as Document);
  return ({ method, path, status, headers, body }) => {
    const label = `${method} ${path} ${status}`;
    const template = findTemplate(Object.keys(paths), path.split('?', 1)[0] ?? '');
    const operation = paths[template ?? '']?.[method === 'HEAD' ? 'get' : method.toLowerCase()];
    if (operation === undefined) {
      const refused = template === undefined ? [400, 404] : [405];
      return refused.includes(status) || method === 'OPTIONS'
        ? []
        : [`${label}: the operation is not documented`];
    }
    const response = resolve(document as Document, operation.responses[status]);
    if (response === undefined) return [`${label}: the status is not documented`];
    const headerOf = (name: string) =>
      headers instanceof Headers ? headers.get(name) : (headers[name.toLowerCase()] ?? null);
    const problems = Object.entries(response.headers ?? {})
      .filter(([name, { required }]) => required === true && headerOf(name) === null)
      .map(([name]) => `the header ${name} is missing`);
    problems.push(
      ...problemsOfContent(response.content, String(headerOf('content-type') ?? ''), method, body),
    );
    return problems.map((problem) => `${label}: ${problem}`);
  };

  function problemsOfContent(
    content: Media | undefined,
    type: string,
    method: string,
    body: unknown,
  ): string[] {
    const [mediaType = ''] = type.split(';');
    if (content === undefined) {
      const none = (body === undefined || body === '' || body === null) && mediaType === '';
      return none ? [] : ['there is a body where none is documented'];
    }
    const media = content[mediaType.trim()];
    if (media === undefined) return [`the type ${mediaType} is not documented`];
    return method === 'HEAD' || media.schema === undefined ? [] : problemsOfBody(media.schema, body);
  }
}

/**
 * Checks bodies of requests against an OpenAPI 3.1 document: the result gives one sentence for each thing that is not
 * as documented. Fields that are not documented may be there, unless a schema says otherwise.
 */
export function createRequestCheck(
  document: object,
): (request: { method: string; path: string; body: unknown }) => string[] {
  const { paths } = document as Document;
  const problemsOfBody = createBodyCheck(document as Document, ['open']);
  return ({ method, path, body }) => {
    const template = findTemplate(Object.keys(paths), path.split('?', 1)[0] ?? '');
    const { content = {} } = paths[template ?? '']?.[method.toLowerCase()]?.requestBody ?? {};
    const { schema } = content['application/json'] ?? {};
    return schema === undefined ? ['no body is documented'] : problemsOfBody(schema, body);
  };
}

/**
 * What is wrong with the document itself: by the specification of OpenAPI, in its references, or with an example that
 * does not hold by its own schema.
 */
export async function documentProblems(document: object): Promise<string[]> {
  const { valid, errors } = await new Validator().validate(document as Json);
  if (!valid) return [typeof errors === 'string' ? errors : JSON.stringify(errors)];
  const { paths, components } = document as Document;
  const problemsOfBody = createBodyCheck(document as Document);
  const problems: string[] = [];
  const seen = new Set<string>();
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { operationId = '', requestBody, responses }] of Object.entries(operations)) {
      if (operationId === '' || seen.has(operationId)) {
        problems.push(`${method} ${path}: the operationId '${operationId}' is not its own`);
      }
      seen.add(operationId);
      const bodies = [
        requestBody,
        ...Object.values(responses).map((it) => resolve(document as Document, it)),
      ];
      for (const body of bodies) {
        for (const { schema = {}, example, examples = {} } of Object.values(body?.content ?? {})) {
          const all = Object.values(examples).map(({ value }) => value);
          for (const value of example === undefined ? all : [...all, example]) {
            const wrong = problemsOfBody(schema, value);
            problems.push(...wrong.map((problem) => `${method} ${path}: the example ${problem}`));
          }
          // So that a schema that cannot be compiled is found, also without an example.
          if (all.length === 0 && example === undefined) problemsOfBody(schema, undefined);
        }
      }
    }
  }
  for (const schema of Object.values((components?.schemas ?? {}) as Record<string, Json>)) {
    problemsOfBody(schema, undefined);
  }
  return problems;
}

/** Checks a value against a schema of the document, as it is and with all objects closed. */
function createBodyCheck(
  document: Document,
  ways: readonly Way[] = ['open', 'closed'],
): (schema: Json, body: unknown) => string[] {
  const ajv = new Ajv2020({
    allErrors: true,
    strictTypes: false,
    strictRequired: false,
    allowUnionTypes: true,
  });
  formats.default(ajv);
  const toComponent = (ref: string): Json => {
    const schema = pointed(document, ref);
    if (schema === undefined) throw new Error(`${ref} is not in the document`);
    return schema as Json;
  };
  const schemas = (document.components?.schemas ?? {}) as Record<string, Json>;
  for (const [name, schema] of Object.entries(schemas)) {
    ajv.addSchema(renamed(schema, 'open'), `open:${name}`);
    ajv.addSchema(renamed(closedSchema(schema, toComponent), 'closed'), `closed:${name}`);
  }
  const compiled = new WeakMap<Json, ((body: unknown) => ErrorObject[])[]>();
  const compile = (schema: Json) => {
    const checks = ways.map((way) => {
      const validate = ajv.compile(renamed(way === 'open' ? schema : closedSchema(schema, toComponent), way));
      return (body: unknown) => (validate(body) ? [] : (validate.errors ?? []));
    });
    compiled.set(schema, checks);
    return checks;
  };
  return (schema, body) => {
    const errors = (compiled.get(schema) ?? compile(schema)).flatMap((check) => check(body));
    const sentences = errors.map(({ instancePath, message, params }) => {
      const details = params.unevaluatedProperty ?? params.allowedValues ?? '';
      return `body${instancePath} ${message} ${details}`.trim();
    });
    return [...new Set(sentences)];
  };
}

/** With references to components turned into references to the schemas that Ajv knows. */
function renamed(schema: Json, way: Way): Json {
  const text = JSON.stringify(schema).replaceAll('"$ref":"#/components/schemas/', `"$ref":"${way}:`);
  return JSON.parse(text) as Json;
}

function resolve(document: Document, response: Response | undefined): Response | undefined {
  return response?.$ref === undefined ? response : (pointed(document, response.$ref) as Response | undefined);
}

/** What a reference within the document points at (RFC 6901). */
function pointed(document: object, ref: string): unknown {
  let value: unknown = document;
  for (const part of ref.split('/').slice(1)) {
    value = Object(value)[part.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return value;
}

/** The template that a path fits; one that names more of it literally goes before (OpenAPI 3.1 §4.8.8.2). */
function findTemplate(templates: readonly string[], path: string): string | undefined {
  const parts = path.split('/');
  const isParameter = (part: string) => part.startsWith('{');
  const fitting = templates.filter((template) => {
    const expected = template.split('/');
    return (
      expected.length === parts.length &&
      expected.every((part, i) => (isParameter(part) ? isSegment(parts[i]) : part === parts[i]))
    );
  });
  const count = (template: string) => template.split('/').filter(isParameter).length;
  return fitting.sort((a, b) => count(a) - count(b))[0];
}

/** What cannot be decoded names nothing. */
function isSegment(part: string | undefined): boolean {
  if (part === undefined || part === '') return false;
  try {
    decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}
