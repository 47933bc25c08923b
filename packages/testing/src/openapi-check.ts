import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { closedSchema, type Json } from './closed-schema.ts';

/** A real answer. `path` may have a query; `body` is parsed if it is JSON, and undefined if there is none. */
export type RealResponse = {
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
/** A schema as it is written, or with everything forbidden that it does not name. */
type Mode = 'open' | 'closed';
type Document = {
  paths: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, Json> };
};

/**
 * Checks real answers against an OpenAPI 3.1 document: the result gives one sentence for each thing that is not as
 * documented. Bodies must be valid under the schemas as they are written, and also with all objects closed, so that
 * an undocumented field is found. Errors for addresses that are not documented (400, 404, 405), and responses to
 * OPTIONS, need not be in the document.
 */
export function createOpenApiCheck(document: object): (reply: RealResponse) => string[] {
  const { paths } = document as Document;
  const problemsOfBody = createBodyCheck(document as Document, ['open', 'closed'], false);
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
 * as documented. Undocumented fields are permitted, unless a schema forbids them.
 */
export function createRequestCheck(
  document: object,
): (request: { method: string; path: string; body: unknown }) => string[] {
  const { paths } = document as Document;
  const problemsOfBody = createBodyCheck(document as Document, ['open'], false);
  return ({ method, path, body }) => {
    const template = findTemplate(Object.keys(paths), path.split('?', 1)[0] ?? '');
    const { content = {} } = paths[template ?? '']?.[method.toLowerCase()]?.requestBody ?? {};
    const { schema } = content['application/json'] ?? {};
    return schema === undefined ? ['no body is documented'] : problemsOfBody(schema, body);
  };
}

/**
 * The problems of the document itself: by the OpenAPI specification, in its references, or with an example that is
 * not valid under its own schema.
 */
export async function documentProblems(document: object): Promise<string[]> {
  const { valid, errors } = await new Validator().validate(document as Json);
  if (!valid) return [typeof errors === 'string' ? errors : JSON.stringify(errors)];
  const { paths, components } = document as Document;
  const problemsOfBody = createBodyCheck(document as Document, ['open', 'closed'], true);
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
          // Finds a schema that cannot be compiled, even if it has no example.
          if (all.length === 0 && example === undefined) problemsOfBody(schema, undefined);
        }
      }
    }
  }
  for (const schema of Object.values(components?.schemas ?? {})) problemsOfBody(schema, undefined);
  return problems;
}

/**
 * Checks a value against a schema of the document, as it is written and with all objects closed. Whether the schemas are
 * schemas is checked for documentProblems only: it takes a moment, in each process that checks answers.
 */
function createBodyCheck(document: Document, modes: readonly Mode[], validateSchema: boolean) {
  const ajv = new Ajv2020({
    validateSchema,
    allErrors: true,
    strictTypes: false,
    strictRequired: false,
    allowUnionTypes: true,
  });
  formats.default(ajv);
  const compiled = new WeakMap<Json, ValidateFunction[]>();
  for (const [name, schema] of Object.entries(document.components?.schemas ?? {})) {
    for (const mode of modes) ajv.addSchema(inMode(schema, mode), `${mode}:${name}`);
  }

  /** The schema with references to the components as Ajv knows them. */
  function inMode(schema: Json, mode: Mode): Json {
    const all = mode === 'open' ? schema : closedSchema(schema, (ref) => pointed(document, ref) as Json);
    return JSON.parse(JSON.stringify(all).replaceAll('"$ref":"#/components/schemas/', `"$ref":"${mode}:`));
  }

  return (schema: Json, body: unknown): string[] => {
    const validators = compiled.get(schema) ?? modes.map((mode) => ajv.compile(inMode(schema, mode)));
    compiled.set(schema, validators);
    const errors = validators.flatMap((validate) => (validate(body) ? [] : (validate.errors ?? [])));
    const sentences = errors.map(({ instancePath, message, params }) => {
      const details = params.unevaluatedProperty ?? params.allowedValues ?? '';
      return `body${instancePath} ${message} ${details}`.trim();
    });
    return [...new Set(sentences)];
  };
}

function resolve(document: Document, response: Response | undefined): Response | undefined {
  return response?.$ref === undefined ? response : (pointed(document, response.$ref) as Response);
}

/** The target of a reference within the document (RFC 6901). Throws when there is none. */
function pointed(document: object, ref: string): unknown {
  let value: unknown = document;
  for (const part of ref.split('/').slice(1)) {
    value = Object(value)[part.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  if (value === undefined) throw new Error(`${ref} is not in the document`);
  return value;
}

/** The template that matches a path; one with fewer parameters takes precedence (OpenAPI 3.1 §4.8.8.2). */
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

/** Whether it can be the value of a parameter: it is not empty, and can be decoded. */
function isSegment(part = ''): boolean {
  if (part === '') return false;
  try {
    decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}
