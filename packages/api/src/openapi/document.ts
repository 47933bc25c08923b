import { createHash } from 'node:crypto';
import { STATUS_OF_KIND } from '@gatehouse/core/errors';
import { notModified } from '../http/conditional.ts';
import type { JsonSchema } from './alternatives.ts';
import { createComponents } from './components.ts';
import { errorKindsOf } from './errors.ts';
import type { OpenApiOptions, Operation } from './operation.ts';
import { parametersOf } from './parameters.ts';
import {
  CLIENT_AUTHENTICATION,
  clientScheme,
  scopesNeeded,
  securityOf,
  securitySchemes,
} from './security.ts';

/** A mounted route: `url` is Fastify's pattern, such as /v1/users/:id. */
export type Route = { url: string; method: string; operation: Operation };

const NOT_MODIFIED = {
  description: 'The client has the current version.',
  headers: { ETag: 'always' },
} as const;

/** Returns a function for the response to GET of the document, by any framework: 304 for whoever has it. Throws as openApiDocument() does. */
export function servedDocument(options: OpenApiOptions, routes: readonly Route[]) {
  // A buffer, since a string of this size would take up the heap (docs/adr/0012-openapi.md).
  const body = Buffer.from(JSON.stringify(openApiDocument(options, routes)));
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
  const headers = { etag, 'cache-control': 'public, max-age=300' };
  const json = { ...headers, 'content-type': 'application/json; charset=utf-8' };
  return (request: Parameters<typeof notModified>[0]) =>
    notModified(request, etag) ? { status: 304, headers } : { status: 200, headers: json, body };
}

/**
 * The document, for JSON.stringify: it contains undefined values. Throws when two operations have the same id, or two
 * schemas the same name.
 */
export function openApiDocument(options: OpenApiOptions, routes: readonly Route[]): JsonSchema {
  const { title, version, description, license, origin, tags = [] } = options;
  const release = options['x-gatehouse-version'];
  const components = createComponents(options.errorExamples);
  const paths: Record<string, JsonSchema> = {};
  const ids = new Set<string>();
  for (const { url, method, operation } of routes) {
    const { operationId } = operation;
    if (ids.has(operationId)) throw new Error(`two operations have the id ${operationId}`);
    ids.add(operationId);
    const path = url.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [method.toLowerCase()]: write(url, method, operation) };
  }
  const used = new Set(routes.map(({ operation }) => operation.tag));
  const described = tags.filter(({ name }) => used.has(name));
  for (const { name } of described) used.delete(name);
  const hasClients = routes.some(({ operation }) => operation.clientAuthentication === true);
  return {
    openapi: '3.1.1',
    info: { title, version, 'x-gatehouse-version': release, description, license },
    servers: origin === undefined ? undefined : [{ url: origin }],
    tags: [...described, ...[...used].map((name) => ({ name }))],
    paths,
    components: {
      ...components.written(),
      securitySchemes: { ...securitySchemes(origin ?? ''), ...(hasClients ? clientScheme : {}) },
    },
  };

  function write(url: string, method: string, operation: Operation) {
    const { operationId, summary, description, tag, scopes, body, lines, conditional, errors } = operation;
    const replies = { ...operation.responses, ...(conditional === 'read' && { 304: NOT_MODIFIED }) };
    const parameters = parametersOf(url, operation);
    const responses: JsonSchema = {};
    for (const [status, response] of Object.entries(replies)) {
      responses[status] = components.response(response, operation);
    }
    if (lines !== undefined) responses[200] = components.responseToLines(lines);
    for (const kind of errorKindsOf(operation, method)) {
      responses[STATUS_OF_KIND[kind]] ??= components.error(errors, kind, scopes);
    }
    return {
      operationId,
      summary,
      description: [description, scopesNeeded(scopes)].filter(Boolean).join(' ') || undefined,
      tags: [tag],
      security: operation.clientAuthentication ? CLIENT_AUTHENTICATION : securityOf(scopes),
      parameters: parameters.length > 0 ? parameters : undefined,
      requestBody: body && components.body(body, operation),
      responses,
    };
  }
}
