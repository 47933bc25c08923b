import { etagOf, ifMatch, notModified } from '@gatehouse/http/conditional';
import { ServiceError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { PROFILE_PINS } from '@gatehouse/kit/profile-pins';
import type { Deprecation } from '@gatehouse/lists/deprecation';
import { createListEndpoint } from '@gatehouse/lists/list-endpoint';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { type Answer, send } from './answer.ts';
import { callerOf } from './authenticate.ts';
import { fitsBody, fitsQuery } from './choose-profile.ts';
import { bodyShape, entityShape, listShapes } from './examples.ts';
import { createIdempotency, type IdempotencyStore } from './idempotency.ts';
import type { ResourceTypes } from './profile.ts';
import type { Resource, ResourcePath } from './resource.ts';
import { candidatesOf, chosenFor, describeRoute, guarded, idOf, pathOfOne } from './route.ts';

export type MountOptions = {
  /** The hook that puts a caller on the request. */
  authenticate: onRequestAsyncHookHandler;
  idempotencyKeys: IdempotencyStore;
  /** Which profile answers on a shared path where neither a pin nor the request says so, by the name of the pin. */
  defaults?: Readonly<Record<string, string>>;
  /** Of filters in the form of the first versions. */
  deprecation?: Deprecation;
};

/** One operation of a resource on one of its paths. */
type Mount = <R extends ResourceTypes>(
  app: FastifyInstance,
  resource: Resource<R>,
  path: ResourcePath<R>,
  options: MountOptions,
) => void;

/** Lists change all the time, and hold the data of many people. */
const NOT_STORED = { 'cache-control': 'no-store' };
/** A caller may keep what it has read, and asks each time whether that is still so. */
const REVALIDATED = { 'cache-control': 'private, no-cache' };

/** Registers the routes of a resource: every operation of every path that one of its profiles serves. */
export function mountResource<R extends ResourceTypes>(
  app: FastifyInstance,
  resource: Resource<R>,
  options: MountOptions,
): void {
  for (const path of resource.paths) {
    checkPin(path);
    for (const mount of [mountList, mountCreate, mountRead, mountUpdate, mountRemove])
      mount(app, resource, path, options);
  }
}

const mountList: Mount = (app, { noun, operations: { list }, example }, path, options) => {
  const { prefix, pin } = path;
  const lists = candidatesOf(path, (profile) => profile.list);
  if (list === undefined || lists.length === 0) return;
  const allFilters = lists.flatMap(({ has }) => Object.keys(has.rules.filters));
  const candidates = lists.map(({ name, has: { rules, envelope, item } }) => {
    const elsewhere = allFilters.filter((filter) => !Object.hasOwn(rules.filters, filter));
    const endpoint = createListEndpoint({
      profile: name,
      rules: { ...rules, path: prefix, elsewhere },
      envelope,
      item,
      ...(options.deprecation === undefined ? {} : { deprecation: options.deprecation }),
    });
    const shapes = listShapes({ rules, envelope, item }, endpoint, { prefix, example });
    return { name, has: { endpoint, shapes, rules } };
  });

  const isLegacy = candidates.some(({ has }) => has.rules.legacy === true);
  const route = describeRoute(path, candidates, list, {
    operation: 'list',
    summary: `List ${noun.many}`,
    query: candidates.map(({ name, has }) => ({ profile: name, schema: has.endpoint.query })),
    answers: {
      200: {
        description: 'A page of the list.',
        shapes: candidates.flatMap(({ has }) => has.shapes),
        headers: {
          Link: 'sometimes',
          ...(isLegacy ? { Deprecation: 'sometimes', Sunset: 'sometimes' } : {}),
        },
      },
    },
    refusals: ['invalid'],
  });
  const fallback = fallbackOf(path, options);
  app.get(prefix, { ...route, ...guarded(options.authenticate, list) }, async (request, reply) => {
    const query = request.query as Record<string, unknown>;
    const matches = fitsQuery(query);
    const { endpoint } = chosenFor(request, candidates, { pin, fallback, matches });
    const { headers, text } = await endpoint.reply(query, list.source(callerOf(request)));
    return send(reply, { status: 200, headers: { ...headers, ...NOT_STORED }, text });
  });
};

const mountCreate: Mount = (app, resource, path, options) => {
  const { create, read } = resource.operations;
  const { prefix, pin } = path;
  const candidates = candidatesOf(path, (profile) => profile.create);
  if (create === undefined || candidates.length === 0) return;
  const { noun, idPrefix, example } = resource;
  const idempotency = createIdempotency({ store: options.idempotencyKeys, newId: () => newId(idPrefix) });
  const location = prefixOfOne(resource, path);

  const route = describeRoute(path, candidates, create, {
    operation: 'create',
    summary: `Create ${noun.one}`,
    body: candidates.map(({ has }) => bodyShape(has.body)),
    // The body is read before a profile is chosen by it.
    verbatim: candidates[0]?.has.body.verbatim,
    idempotent: true,
    answers: {
      201: {
        description: `The ${bare(noun.one)} is created.`,
        shapes: candidates.map(({ has }) => entityShape(has.answer, example)),
        headers: { Location: 'always', ETag: 'always' },
      },
    },
    refusals: ['invalid', 'conflict'],
  });
  const fallback = fallbackOf(path, options);
  app.post(prefix, { ...route, ...guarded(options.authenticate, create) }, async (request, reply) => {
    const caller = callerOf(request);
    const matches = fitsBody(request.body);
    const { body, answer } = chosenFor(request, candidates, { pin, fallback, matches });
    const draft = body.read(request.body);
    const created = await idempotency.once(request, async ({ reservedId: id, again }): Promise<Answer> => {
      const entity = await create.run({ ...draft, id }, caller).catch((error: unknown) => {
        // An attempt before this one may have created it, and did not come to say so.
        const exists = again && error instanceof ServiceError && error.kind === 'conflict';
        if (!exists || read === undefined) throw error;
        return read.run(id, caller).catch(() => Promise.reject(error));
      });
      const headers = { location: `${location}/${entity.id}`, etag: etagOf(entity.version), ...NOT_STORED };
      return { status: 201, headers, text: answer.write(entity) };
    });
    return send(reply, created);
  });
};

const mountRead: Mount = (app, { noun, operations: { read }, example }, path, { authenticate }) => {
  const [candidate] = candidatesOf(path, (profile) => profile.read);
  if (read === undefined || candidate === undefined) return;
  const { has: view } = candidate;

  const route = describeRoute(path, [candidate], read, {
    operation: 'read',
    summary: `Read ${noun.one}`,
    conditional: 'read',
    answers: {
      200: {
        description: `The ${bare(noun.one)}.`,
        shapes: [entityShape(view, example)],
        headers: { ETag: 'always' },
      },
    },
    refusals: ['not_found'],
  });
  app.get(pathOfOne(path), { ...route, ...guarded(authenticate, read) }, async (request, reply) => {
    const entity = await read.run(idOf(request), callerOf(request));
    const headers = { etag: etagOf(entity.version), ...REVALIDATED };
    return notModified(request, headers.etag)
      ? send(reply, { status: 304, headers, text: '' })
      : send(reply, { status: 200, headers, text: view.write(entity) });
  });
};

const mountUpdate: Mount = (app, { noun, operations: { update }, example }, path, { authenticate }) => {
  if (update === undefined) return;
  for (const candidate of candidatesOf(path, (profile) => profile.update)) {
    const { method, body, answer } = candidate.has;
    const route = describeRoute(path, [candidate], update, {
      operation: method === 'PATCH' ? 'patch' : 'update',
      summary: `Change ${noun.one}`,
      description: 'What the body does not name stays as it is.',
      body: [bodyShape(body)],
      verbatim: body.verbatim,
      conditional: 'write',
      answers: {
        200: {
          description: `The ${bare(noun.one)} as changed.`,
          shapes: [entityShape(answer, example)],
          headers: { ETag: 'always' },
        },
      },
      refusals: ['invalid', 'not_found', 'conflict'],
    });
    app.route({
      method,
      url: pathOfOne(path),
      ...route,
      ...guarded(authenticate, update),
      handler: async (request, reply) => {
        const changes = body.read(request.body);
        const entity = await update.run(idOf(request), changes, callerOf(request), ifMatch(request));
        const headers = { etag: etagOf(entity.version), ...NOT_STORED };
        return send(reply, { status: 200, headers, text: answer.write(entity) });
      },
    });
  }
};

const mountRemove: Mount = (app, { noun, operations: { remove } }, path, { authenticate }) => {
  const candidates = candidatesOf(path, (profile) => profile.remove);
  if (remove === undefined || candidates.length === 0) return;
  const route = describeRoute(path, candidates, remove, {
    operation: 'remove',
    summary: `Delete ${noun.one}`,
    conditional: 'write',
    answers: { 204: { description: `The ${bare(noun.one)} is deleted.` } },
    refusals: ['not_found'],
  });
  app.delete(pathOfOne(path), { ...route, ...guarded(authenticate, remove) }, async (request, reply) => {
    await remove.run(idOf(request), callerOf(request), ifMatch(request));
    return reply.code(204).send();
  });
};

/** Where the entities of a path can be read: there, or on the first path of the resource that reads them. */
function prefixOfOne<R extends ResourceTypes>({ paths }: Resource<R>, path: ResourcePath<R>): string {
  const reads = ({ profiles }: ResourcePath<R>) => profiles.some(({ read }) => read !== undefined);
  return (reads(path) ? path : (paths.find(reads) ?? path)).prefix;
}

function fallbackOf<R extends ResourceTypes>(
  { pin }: ResourcePath<R>,
  { defaults = {} }: MountOptions,
): string | undefined {
  return pin === undefined ? undefined : defaults[pin];
}

/** Applications pin profiles at identity, which knows them by PROFILE_PINS alone. */
function checkPin<R extends ResourceTypes>({ pin, prefix, profiles }: ResourcePath<R>): void {
  if (pin === undefined) return;
  const names = profiles.map(({ name }) => name).sort();
  const pinnable = [...PROFILE_PINS[pin]].sort();
  if (names.join() !== pinnable.join())
    throw new Error(`${prefix} serves ${names.join(', ')}; PROFILE_PINS has ${pinnable.join(', ')}`);
}

/** A noun without its article. */
function bare(noun: string): string {
  return noun.replace(/^an? /, '');
}
