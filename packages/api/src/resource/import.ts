import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { type BodyLine, NDJSON, readLines } from '../http/body-lines.ts';
import type { ErrorBody } from '../http/error-bodies.ts';
import { parseJsonBody } from '../http/json-body.ts';
import { refuseEncoded } from '../http/request-body.ts';
import type { Operation, Shape } from '../openapi/operation.ts';
import { callerOf } from './authenticate.ts';
import { bodyShape } from './examples.ts';
import { sendStream } from './json-response.ts';
import type { ResourceTypes } from './profile.ts';
import type { Resource, ResourcePath } from './resource.ts';

/** The time ends before the server gives up the request (REQUEST_TIMEOUT_SECONDS), so that the last line can say so. */
export const IMPORT_LIMITS = { lines: 10_000, bytes: 64 * 1024, seconds: 50 };
/** How often a line is tried while a dependency is unavailable, and the first pause, which doubles each time. */
const TRIES = 5;
const PAUSE_MS = 250;
/** So many writes share the waiting for the journal of the database. */
const CONCURRENCY = 32;

type Importer = {
  /** For the OpenAPI document. */
  documented: NonNullable<Operation['lines']>;
  /** Mounts a route that takes bodies of lines, too: those do not reach its handler. */
  mount(app: FastifyInstance, path: string, route: Omit<RouteOptions, 'method' | 'url'>): void;
};

/** The importer of the resource on a path; undefined if it has none, or the path has several profiles that create. */
export function createImporter<R extends ResourceTypes>(
  { idPrefix, operations, example }: Resource<R>,
  path: ResourcePath<R>,
): Importer | undefined {
  const { create } = operations;
  const [profile, ...others] = path.profiles.filter((profile) => profile.create !== undefined);
  if (create?.import === undefined || profile?.create === undefined || others.length > 0) return undefined;
  const { description, authorize, keyOf, run } = create.import;
  const { read } = operations;
  const { body } = profile.create;
  const { errorBody } = profile;

  /** Writes a draft. A short outage, such as connections that time out while the process is busy, must not refuse one line of thousands. */
  async function write(draft: R['draft'], request: FastifyRequest): Promise<{ id: string; isNew: boolean }> {
    const caller = callerOf(request);
    const id = newId(idPrefix);
    for (let tries = 1; ; tries += 1) {
      try {
        const written = await run({ ...draft, id }, caller);
        return { ...written, isNew: written.isNew || written.id === id };
      } catch (thrown) {
        const error = request.server.errorOf(thrown, request);
        // An earlier try may have written it and then failed to answer.
        const isRepeated = tries > 1 && error.kind === 'conflict' && read !== undefined;
        if (isRepeated && (await read.run(id, caller).catch(() => undefined))) return { id, isNew: true };
        if (error.kind !== 'unavailable' || tries === TRIES) throw error;
      }
      await sleep(PAUSE_MS * 2 ** (tries - 1));
    }
  }

  /**
   * Writes the response to each line as soon as its draft, and those before it, have been written or refused. While the client does not
   * take the responses, no more lines are read. The work ends with the connection.
   */
  function respond(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    authorize(callerOf(request));
    refuseEncoded(request.raw);
    if (request.headers['idempotency-key'] !== undefined) {
      throw new ServiceError(
        'invalid',
        'An import takes no Idempotency-Key: lines that are sent again are recognized by their unique field.',
      );
    }
    const responseLine = responder({
      read: body.read,
      keyOf,
      run: (draft) => write(draft, request),
      writeError: (thrown) => errorBody.write(request.server.errorOf(thrown, request)),
    });
    const responses = inOrder(readLines(request.raw, IMPORT_LIMITS), responseLine);
    // The connection is not kept for another request, as the body may not be read to its end.
    reply.headers({ 'cache-control': 'no-store', connection: 'close' }).type(NDJSON);
    return sendStream(reply, responses);
  }

  return {
    documented: {
      description: `One per line, at most ${IMPORT_LIMITS.lines} lines: ${description}`,
      body: bodyShape(body),
      response: responseShape(errorBody, example.id),
    },
    mount(app, path, { handler, ...route }) {
      app.register(async (scope) => {
        scope.addContentTypeParser(NDJSON, async (request: FastifyRequest) => request.raw);
        scope.post(path, route, async function (request, reply) {
          return request.body === request.raw ? respond(request, reply) : handler.call(this, request, reply);
        });
      });
    },
  };
}

/** The shape of the line that answers a line. */
function responseShape({ schema }: ErrorBody, id: string): Shape {
  const { error } = (schema as { properties?: { error?: TSchema } }).properties ?? {};
  if (error === undefined) throw new Error('the schema of an error has no property error');
  return {
    name: 'ImportedLine',
    schema: Type.Object({
      line: Type.Integer({ description: 'The number of the line, from 1.' }),
      status: Type.Unsafe<string>({
        type: 'string',
        enum: ['created', 'updated', 'refused', 'stopped'],
        description:
          'The response ends after `stopped`: neither this line nor those after it have been read.',
      }),
      id: Type.Optional(Type.String({ description: 'The id of the created or updated resource.' })),
      error: Type.Optional(error),
    }),
    example: { line: 1, status: 'created', id },
  };
}

/** A function that handles lines, those with the same key one after the other. */
function responder<Draft>(options: {
  read(input: unknown): Draft;
  keyOf(draft: Draft): string | undefined;
  run(draft: Draft): Promise<{ id: string; isNew: boolean }>;
  writeError(thrown: unknown): object;
}) {
  const { read, keyOf, run, writeError } = options;
  const lastOfKey = new Map<string, Promise<unknown>>();

  function inTurn<T>(key: string | undefined, write: () => Promise<T>): Promise<T> {
    if (key === undefined) return write();
    const written = (lastOfKey.get(key) ?? Promise.resolve()).then(write);
    const settled = written
      .catch(() => {})
      .finally(() => {
        if (lastOfKey.get(key) === settled) lastOfKey.delete(key);
      });
    lastOfKey.set(key, settled);
    return written;
  }

  return async (line: BodyLine): Promise<string> => {
    let response: object;
    try {
      if ('problem' in line) throw line.problem;
      const draft = read(parseJsonBody(line.bytes));
      const { id, isNew } = await inTurn(keyOf(draft), () => run(draft));
      response = { line: line.number, status: isNew ? 'created' : 'updated', id };
    } catch (thrown) {
      const status = 'problem' in line && line.isLast ? 'stopped' : 'refused';
      response = { line: line.number, status, ...writeError(thrown) };
    }
    return `${JSON.stringify(response)}\n`;
  };
}

/** Runs several items at a time, and yields their results in the order of the items. */
async function* inOrder<T, R>(
  items: AsyncIterator<T>,
  run: (item: T) => Promise<R>,
): AsyncGenerator<R, void, undefined> {
  const running: Promise<R>[] = [];
  let next: Promise<IteratorResult<T>> | undefined;
  let isOver = false;
  try {
    for (;;) {
      if (!isOver && running.length < CONCURRENCY) next ??= items.next();
      const [first] = running;
      if (first === undefined && next === undefined) return;
      const either = [next, first?.then(() => undefined)].filter((promise) => promise !== undefined);
      const item = await Promise.race(either);
      if (item === undefined) {
        yield await (running.shift() as Promise<R>);
        continue;
      }
      next = undefined;
      isOver = item.done === true;
      if (item.done !== true) running.push(run(item.value));
    }
  } finally {
    // Not awaited: it waits for what next() waits for.
    void items.return?.();
  }
}
