import { type ErrorKind, ServiceError } from '@gatehouse/core/errors';
import { NDJSON } from '../http/body-lines.ts';
import { publishedSchema } from '../http/schema.ts';
import { alternatives, type JsonSchema } from './alternatives.ts';
import { DESCRIPTIONS, ERROR_HEADERS, MESSAGES } from './errors.ts';
import { headersOf, LIMITS } from './headers.ts';
import type { DocumentedResponse, ErrorExamples, Operation, Shape } from './operation.ts';

const JSON_TYPE = 'application/json';

/** Writes the bodies and answers of operations, and collects the schemas and errors that they share. */
export function createComponents(errorExamples: ErrorExamples = {}) {
  const schemas = new Map<string, string>();
  const responses: Record<string, unknown> = {};

  /** A reference to the schema of a shape, in which parts are references, too. */
  function refer({ name, schema, parts = [] }: Shape): JsonSchema {
    let text = JSON.stringify(publishedSchema(schema));
    for (const part of parts) {
      const pieces = text.split(JSON.stringify(publishedSchema(part.schema)));
      if (pieces.length === 1) throw new Error(`${name} does not contain all of its parts`);
      text = pieces.join(JSON.stringify(refer(part)));
    }
    if ((schemas.get(name) ?? text) !== text) throw new Error(`two schemas have the name ${name}`);
    schemas.set(name, text);
    return { $ref: `#/components/schemas/${name}` };
  }

  function contentOf(
    shapes: readonly Shape[],
    side: 'written' | 'read',
    mediaTypes: readonly string[] = [JSON_TYPE],
  ) {
    const shown = shapes.filter(({ example }) => example !== undefined);
    const examples = Object.fromEntries(shown.map(({ name, example: value }) => [name, { value }]));
    const schema = alternatives(shapes, side, refer);
    const content = { schema, examples: shown.length > 0 ? examples : undefined };
    return Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, content]));
  }

  function linesOf(shape: Shape) {
    return { [NDJSON]: { schema: refer(shape), example: shape.example } };
  }

  return {
    body: (shapes: readonly Shape[], { lines, bodyTypes }: Pick<Operation, 'lines' | 'bodyTypes'>) => ({
      required: true,
      content: { ...contentOf(shapes, 'read', bodyTypes), ...(lines && linesOf(lines.body)) },
    }),

    /** The response to a body of lines. The schemas of both are those of one line, as OpenAPI 3.1 has none of a sequence. */
    responseToLines: ({ description, response }: NonNullable<Operation['lines']>) => ({
      description,
      headers: headersOf({ 'X-Request-Id': 'always', ...LIMITS }),
      content: linesOf(response),
    }),

    response(
      { description, shapes, jsonType = JSON_TYPE, mediaType, headers }: DocumentedResponse,
      operation: Operation,
    ) {
      const limits = operation.scopes && LIMITS;
      const replayed = operation.idempotent && ({ 'Idempotency-Replayed': 'sometimes' } as const);
      const text = mediaType && { [mediaType]: { schema: { type: 'string' } } };
      return {
        description,
        headers: headersOf({ 'X-Request-Id': 'always', ...headers, ...limits, ...replayed }),
        content:
          shapes || text ? { ...(shapes && contentOf(shapes, 'written', [jsonType])), ...text } : undefined,
      };
    },

    /** A reference to the response for an error of an operation with these scopes. */
    error({ body, headers }: Operation['errors'], kind: ErrorKind, scopes: readonly string[] = []) {
      const { schema, write } = body;
      const { title } = schema as { title?: string };
      if (title === undefined) throw new Error('the schema of an error has no title');
      // The example of `forbidden` names the missing scopes.
      const missing = kind === 'forbidden' ? scopes : [];
      const name = [title, kind, ...missing].join('_').replaceAll(':', '_');
      const message = missing.length > 0 ? `This needs the scope ${missing.join(' or ')}.` : MESSAGES[kind];
      const example = write(errorExamples[kind] ?? new ServiceError(kind, message));
      responses[name] = {
        description: DESCRIPTIONS[kind],
        headers: headersOf({
          'X-Request-Id': 'always',
          ...LIMITS,
          ...(headers?.[kind] ?? ERROR_HEADERS[kind]),
        }),
        content: { [JSON_TYPE]: { schema: refer({ name: title, schema }), example } },
      };
      return { $ref: `#/components/responses/${name}` };
    },

    /** The components referred to so far. */
    written() {
      const entries = [...schemas].map(([name, text]) => [name, JSON.parse(text)]);
      return { schemas: Object.fromEntries(entries), responses };
    },
  };
}
