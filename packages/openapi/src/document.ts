import { STATUS_OF_KIND } from '@gatehouse/kit/errors';
import { alternatives, type JsonSchema } from './alternatives.ts';
import { type Components, createComponents, JSON_TYPE } from './components.ts';
import { errorKindsOf } from './errors.ts';
import type { AnswerHeader, DocumentedAnswer, OpenApiOptions, Operation, Shape } from './operation.ts';
import { parametersOf } from './parameters.ts';
import { scopesNeeded, securityOf, securitySchemes } from './security.ts';

/** A route as it was mounted: `url` is Fastify's pattern, such as /v1/users/:id. */
export type Route = { url: string; method: string; operation: Operation };

/** The document. Throws when two operations have one id, or two schemas one name. */
export function openApiDocument(options: OpenApiOptions, routes: readonly Route[]): JsonSchema {
  const { title, version, description, license, origin } = options;
  const components = createComponents(options.errorExamples);
  const paths: Record<string, Record<string, unknown>> = {};
  const ids = new Set<string>();
  for (const { url, method, operation } of routes) {
    const { operationId } = operation;
    if (ids.has(operationId)) throw new Error(`two operations have the id ${operationId}`);
    ids.add(operationId);
    const path = url.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = {
      ...paths[path],
      [method.toLowerCase()]: writeOperation(url, method, operation, components),
    };
  }
  const used = new Set(routes.map(({ operation }) => operation.tag));
  const said = (options.tags ?? []).filter(({ name }) => used.has(name));
  const unsaid = [...used].filter((tag) => !said.some(({ name }) => name === tag));
  const document = {
    openapi: '3.1.1',
    info: { title, version, description, ...(license === undefined ? {} : { license }) },
    ...(origin === undefined ? {} : { servers: [{ url: origin }] }),
    tags: [...said, ...unsaid.map((name) => ({ name }))],
    paths,
    components: { ...components.written(), securitySchemes: securitySchemes(origin ?? '') },
  };
  // What TypeBox keeps on its schemas for itself is gone then.
  return JSON.parse(JSON.stringify(document));
}

function writeOperation(url: string, method: string, operation: Operation, components: Components) {
  const { operationId, summary, tag, scopes, body, errors, answers, conditional } = operation;
  const description = [operation.description, scopesNeeded(scopes)].filter(Boolean).join(' ');
  const parameters = parametersOf(url, operation);
  const responses: Record<number, unknown> = {};
  for (const [status, answer] of Object.entries(answers)) {
    responses[Number(status)] = writeAnswer(answer, operation, components);
  }
  if (conditional === 'read') {
    const unchanged: DocumentedAnswer = {
      description: 'The caller has it already.',
      headers: { ETag: 'always' },
    };
    responses[304] = writeAnswer(unchanged, { ...operation, idempotent: false }, components);
  }
  for (const kind of errorKindsOf(operation, method)) {
    responses[STATUS_OF_KIND[kind]] = components.error(errors.body, kind, scopes);
  }
  return {
    operationId,
    summary,
    ...(description === '' ? {} : { description }),
    tags: [tag],
    security: securityOf(scopes),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { [JSON_TYPE]: media(body, 'read', components) } } }),
    responses,
  };
}

function writeAnswer(answer: DocumentedAnswer, operation: Operation, components: Components) {
  const { description, shapes, mediaType, headers = {} } = answer;
  const written: Record<string, unknown> = { 'X-Request-Id': components.header('X-Request-Id', true) };
  for (const [name, when] of Object.entries(headers) as [AnswerHeader, string][]) {
    written[name] = components.header(name, when === 'always');
  }
  if (operation.scopes !== undefined) Object.assign(written, components.limits());
  if (operation.idempotent === true) {
    written['Idempotency-Replayed'] = components.header('Idempotency-Replayed', false);
  }
  const content = mediaType === undefined ? undefined : { [mediaType]: { schema: { type: 'string' } } };
  return {
    description,
    headers: written,
    ...(shapes === undefined ? {} : { content: { [JSON_TYPE]: media(shapes, 'written', components) } }),
    ...(content === undefined ? {} : { content }),
  };
}

function media(shapes: readonly Shape[], side: 'written' | 'read', components: Components) {
  const examples = shapes
    .filter(({ example }) => example !== undefined)
    .map(({ name, example }) => [name, { value: example }]);
  return {
    schema: alternatives(shapes, side, components.schema),
    ...(examples.length === 0 ? {} : { examples: Object.fromEntries(examples) }),
  };
}
