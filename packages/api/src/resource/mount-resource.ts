import { untilFirstWrite } from '@gatehouse/core/dry-run';
import { ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import type { IdempotencyStore } from '@gatehouse/data/idempotency-store';
import { PROFILE_PINS } from '@gatehouse/domain/profile-pins';
import { prefersEventStream } from '@gatehouse/server/accept';
import { isDryRun } from '@gatehouse/server/configuration-header';
import { requestInfo } from '@gatehouse/server/requests';
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import type { TSchema } from 'typebox';
import type { ConcurrencyLimit } from '../http/concurrency-limit.ts';
import { etagOf, ifMatch, notModified } from '../http/conditional.ts';
import type { Deprecation } from '../lists/deprecation.ts';
import type { FilterField } from '../lists/filters.ts';
import { createListEndpoint, type Limited } from '../lists/list-endpoint.ts';
import { callerOf } from './authenticate.ts';
import { matchesBody, matchesQuery } from './choose-profile.ts';
import { createOnce } from './document-idempotency.ts';
import { bodyShape, entityShape, listShapes } from './examples.ts';
import { createIdempotency } from './idempotency.ts';
import { createImporter } from './import.ts';
import { type JsonResponse, send } from './json-response.ts';
import type { ResourceTypes } from './profile.ts';
import type { Resource, ResourcePath } from './resource.ts';
import { accessHooks, candidatesFor, definitionFor, describeRoute, entityPath, idOf } from './route.ts';

export type MountOptions = {
  /** The hook that sets the caller of a request. */
  authenticate: onRequestAsyncHookHandler;
  idempotencyKeys: IdempotencyStore;
  /** The limit for reads whose cost depends on how much is stored: lists with conditions, and others of the service. */
  concurrency: ConcurrencyLimit;
  /** By the name of a pin, the profile that answers if neither a pin nor the request decides. */
  defaults?: Readonly<Record<string, string>>;
  /** The deprecation of filters without brackets. */
  deprecation?: Deprecation;
};

/** Mounts one operation of a resource on one of its paths. */
type Mount = <R extends ResourceTypes>(
  app: FastifyInstance,
  resource: Resource<R>,
  path: ResourcePath<R>,
  options: MountOptions,
) => void;

/** For lists, which change often and contain the data of many people, and for responses to writes. */
const NO_STORE = { 'cache-control': 'no-store' };
/** A client may store the response, but must revalidate it by its ETag before each use. */
const REVALIDATE = { 'cache-control': 'private, no-cache' };

/** Registers the routes of a resource: on each path, every operation that a profile serves. */
export function mountResource<R extends ResourceTypes>(
  app: FastifyInstance,
  resource: Resource<R>,
  options: MountOptions,
): void {
  for (const path of resource.paths) {
    checkPin(path);
    checkProfiles(path);
    for (const mount of [mountList, mountCreate, mountRead, mountUpdate, mountRemove])
      mount(app, resource, path, options);
  }
}

const mountList: Mount = (app, { noun, operations: { list }, example }, path, options) => {
  const { prefix, pin } = path;
  const lists = candidatesFor(path, (profile) => profile.list);
  if (list === undefined || lists.length === 0) return;
  const allFilters = lists.flatMap(({ definition }) => Object.keys(definition.rules.filters));
  const candidates = lists.map(({ name, definition: { rules, envelope, item } }) => {
    const elsewhere = allFilters.filter((filter) => !Object.hasOwn(rules.filters, filter));
    const endpoint = createListEndpoint({
      profile: name,
      rules: { ...rules, path: prefix, elsewhere },
      envelope,
      item,
      ...(options.deprecation === undefined ? {} : { deprecation: options.deprecation }),
    });
    const shapes = listShapes({ rules, envelope, item }, endpoint, { prefix, example });
    return { name, definition: { endpoint, shapes, rules } };
  });

  const isLegacy = candidates.some(({ definition }) => definition.rules.legacy === true);
  const isBounded = candidates.some(({ definition }) =>
    Object.values<FilterField<string>>(definition.rules.filters).some(({ bounded }) => bounded),
  );
  const route = describeRoute(path, candidates, list, {
    operation: 'list',
    summary: `List ${noun.many}`,
    query: candidates.map(({ name, definition }) => ({ profile: name, schema: definition.endpoint.query })),
    responses: {
      200: {
        description: 'A page of the list.',
        // Profiles that differ only in their envelope have the cursor page in common.
        shapes: [
          ...new Map(
            candidates.flatMap(({ definition }) => definition.shapes.map((shape) => [shape.name, shape])),
          ).values(),
        ],
        headers: {
          Link: 'sometimes',
          ...(isBounded ? { 'Incomplete-Results': 'sometimes' } : {}),
          ...(isLegacy ? { Deprecation: 'sometimes', Sunset: 'sometimes' } : {}),
        },
      },
    },
    errors: ['invalid'],
  });
  const fallback = defaultProfileOf(path, options);
  app.get(prefix, { ...route, ...accessHooks(options.authenticate, list) }, async (request, reply) => {
    const query = request.query as Record<string, unknown>;
    const matches = matchesQuery(query);
    const { endpoint } = definitionFor(request, candidates, { pin, fallback, matches });
    const caller = callerOf(request);
    const isStream = request.method === 'GET' && prefersEventStream(request.headers.accept);
    if (list.streams !== undefined && isStream) {
      const rowsAfter = endpoint.follow(query, list.source(caller));
      await list.streams.open(request, reply, { caller, rowsAfter });
      return reply;
    }
    const limited: Limited = (work) => options.concurrency.run(caller, work);
    const { headers, text } = await endpoint.reply(query, list.source(caller), { limited });
    if (headers.deprecation !== undefined) requestInfo(request.raw).deprecated = true;
    return send(reply, { status: 200, headers: { ...headers, ...NO_STORE }, text });
  });
};

const mountCreate: Mount = (app, resource, path, options) => {
  const { create, read } = resource.operations;
  const { prefix, pin } = path;
  const candidates = candidatesFor(path, (profile) => profile.create);
  if (create === undefined || candidates.length === 0) return;
  const { noun, idPrefix, example } = resource;
  const idempotency = createIdempotency({ store: options.idempotencyKeys, newId: () => newId(idPrefix) });
  const location = entityPrefix(resource, path);
  const status = create.queues ? 202 : 201;
  const importer = createImporter(resource, path);

  const route = describeRoute(path, candidates, create, {
    operation: 'create',
    summary: `Create ${noun.one}`,
    body: candidates.map(({ definition }) => bodyShape(definition.body)),
    // The body is parsed before a profile is chosen: all profiles must agree on this.
    verbatim: candidates[0]?.definition.body.verbatim,
    dryRun: create.dryRun,
    idempotent: true,
    responses: {
      [status]: {
        description: `The ${withoutArticle(noun.one)} has been ${create.queues ? 'accepted' : 'created'}.`,
        shapes: candidates.map(({ definition }) => entityShape(definition.response, example)),
        headers: { Location: 'always', ETag: 'always' },
      },
    },
    errors: ['invalid', 'conflict'],
    ...(importer === undefined ? {} : { lines: importer.documented }),
  });
  const fallback = defaultProfileOf(path, options);
  const hooks = accessHooks(options.authenticate, create);
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const caller = callerOf(request);
    const matches = matchesBody(request.body);
    const { body, response } = definitionFor(request, candidates, { pin, fallback, matches });
    const draft = body.read(request.body);
    const responseOf = (entity: typeof example): JsonResponse => {
      const headers = {
        location: `${location}/${entity.id}`,
        etag: etagOf(entity.version, entity.minorVersion),
        ...NO_STORE,
      };
      return { status, headers, text: response.write(entity) };
    };
    if (create.findByKey !== undefined) {
      const { findByKey, run } = create;
      const created = await createOnce(request, {
        findByKey: (key) => findByKey(key, draft, caller),
        create: (key) => run({ ...draft, id: newId(idPrefix) }, caller, key),
        response: responseOf,
      });
      return send(reply, created);
    }
    if (isDryRun(request)) {
      await untilFirstWrite(() =>
        create.run({ ...draft, id: newId(idPrefix) }, caller, requestInfo(request.raw)),
      );
      return reply.code(204).send();
    }
    const created = await idempotency.once(request, async ({ reservedId: id, isRetry }) => {
      const info = requestInfo(request.raw);
      const entity = await create.run({ ...draft, id }, caller, info).catch((error: unknown) => {
        // An earlier attempt may have created it and then failed to answer.
        const exists = isRetry && error instanceof ServiceError && error.kind === 'conflict';
        if (!exists || read === undefined) throw error;
        return read.run(id, caller).catch(() => Promise.reject(error));
      });
      return responseOf(entity);
    });
    return send(reply, created);
  };
  if (importer === undefined) app.post(prefix, { ...route, ...hooks }, handler);
  else importer.mount(app, prefix, { ...route, ...hooks, handler });
};

const mountRead: Mount = (app, { noun, operations: { read }, example }, path, { authenticate }) => {
  const [candidate] = candidatesFor(path, (profile) => profile.read);
  if (read === undefined || candidate === undefined) return;
  const { definition: view } = candidate;

  const route = describeRoute(path, [candidate], read, {
    operation: 'read',
    summary: `Read ${noun.one}`,
    conditional: 'read',
    responses: {
      200: {
        description: `The ${withoutArticle(noun.one)}.`,
        shapes: [entityShape(view, example)],
        headers: { ETag: 'always' },
      },
    },
    errors: ['not_found'],
  });
  app.get(entityPath(path), { ...route, ...accessHooks(authenticate, read) }, async (request, reply) => {
    const entity = await read.run(idOf(request), callerOf(request));
    const headers = { etag: etagOf(entity.version, entity.minorVersion), ...REVALIDATE };
    return notModified(request, headers.etag)
      ? send(reply, { status: 304, headers, text: '' })
      : send(reply, { status: 200, headers, text: view.write(entity) });
  });
};

const mountUpdate: Mount = (app, { noun, operations: { update }, example }, path, { authenticate }) => {
  if (update === undefined) return;
  for (const candidate of candidatesFor(path, (profile) => profile.update)) {
    const { method, body, response } = candidate.definition;
    const readOnly = readOnlyIn(candidate.definition);
    const schema = { ...body.schema, patternProperties: { [`^(?:${readOnly.join('|')})$`]: {} } };
    const route = describeRoute(path, [candidate], update, {
      operation: method === 'PATCH' ? 'patch' : 'update',
      summary: `Change ${noun.one}`,
      description: 'Fields that are not in the body stay as they are.',
      body: [bodyShape({ ...body, schema })],
      verbatim: body.verbatim,
      dryRun: update.dryRun,
      conditional: 'write',
      responses: {
        200: {
          description: `The changed ${withoutArticle(noun.one)}.`,
          shapes: [entityShape(response, example)],
          headers: { ETag: 'always' },
        },
      },
      errors: ['invalid', 'not_found', 'conflict'],
    });
    app.route({
      method,
      url: entityPath(path),
      ...route,
      ...accessHooks(authenticate, update),
      handler: async (request, reply) => {
        const changes = body.read(without(readOnly, request.body));
        const run = () =>
          update.run(idOf(request), changes, callerOf(request), ifMatch(request), requestInfo(request.raw));
        const entity = await (isDryRun(request) ? untilFirstWrite(run) : run());
        if (entity === undefined) return reply.code(204).send();
        const headers = { etag: etagOf(entity.version, entity.minorVersion), ...NO_STORE };
        return send(reply, { status: 200, headers, text: response.write(entity) });
      },
    });
  }
};

/** The members of a response that a change does not take. A client may send them back as it has read them. */
function readOnlyIn({
  body,
  response,
}: Record<'body' | 'response', { schema: TSchema & { properties?: object } }>) {
  const taken = body.schema.properties ?? {};
  return Object.keys(response.schema.properties ?? {}).filter((name) => !Object.hasOwn(taken, name));
}

/** A body without these members. */
function without(names: readonly string[], sent: unknown): unknown {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) return sent;
  return Object.fromEntries(Object.entries(sent).filter(([name]) => !names.includes(name)));
}

const mountRemove: Mount = (app, { noun, operations: { remove } }, path, { authenticate }) => {
  const candidates = candidatesFor(path, (profile) => profile.remove);
  if (remove === undefined || candidates.length === 0) return;
  const route = describeRoute(path, candidates, remove, {
    operation: 'remove',
    summary: `Delete ${noun.one}`,
    conditional: 'write',
    responses: { 204: { description: `The ${withoutArticle(noun.one)} has been deleted.` } },
    errors: remove.conflicts ? ['not_found', 'conflict'] : ['not_found'],
  });
  app.delete(entityPath(path), { ...route, ...accessHooks(authenticate, remove) }, async (request, reply) => {
    await remove.run(idOf(request), callerOf(request), ifMatch(request), requestInfo(request.raw));
    return reply.code(204).send();
  });
};

/** The prefix of an entity's Location: this path's, or that of the resource's first path that serves reads. */
function entityPrefix<R extends ResourceTypes>({ paths }: Resource<R>, path: ResourcePath<R>): string {
  const reads = ({ profiles }: ResourcePath<R>) => profiles.some(({ read }) => read !== undefined);
  return (reads(path) ? path : (paths.find(reads) ?? path)).prefix;
}

function defaultProfileOf<R extends ResourceTypes>(
  { pin }: ResourcePath<R>,
  { defaults = {} }: MountOptions,
): string | undefined {
  return pin === undefined ? undefined : (defaults[pin] ?? PROFILE_PINS[pin][0]);
}

/** Checks that the path serves exactly the profiles that can be pinned at identity. */
function checkPin<R extends ResourceTypes>({ pin, prefix, profiles }: ResourcePath<R>): void {
  if (pin === undefined) return;
  const names = profiles.map(({ name }) => name).sort();
  const pinnable = [...PROFILE_PINS[pin]].sort();
  if (names.join() !== pinnable.join())
    throw new Error(
      `${prefix} serves ${names.join(', ')}; PROFILE_PINS has ${pinnable.join(', ')} (packages/domain/src/profile-pins.ts)`,
    );
}

/** Checks the parts that must be the same in all profiles of a path, since they apply before a profile is chosen, or to one entity. */
function checkProfiles<R extends ResourceTypes>({ prefix, profiles }: ResourcePath<R>): void {
  const readers = profiles.filter(({ read }) => read !== undefined).map(({ name }) => name);
  if (readers.length > 1)
    throw new Error(`${prefix}/:id is read in one profile, not in ${readers.join(' and ')}`);
  const verbatim = new Set(profiles.flatMap(({ create }) => (create ? [create.body.verbatim] : [])));
  if (verbatim.size > 1) throw new Error(`the profiles that create at ${prefix} differ in what is verbatim`);
}

/** A noun without its article. */
function withoutArticle(noun: string): string {
  return noun.replace(/^an? /, '');
}
