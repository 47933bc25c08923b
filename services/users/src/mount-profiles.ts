import { etagOf, ifMatch, notModified } from '@gatehouse/http/conditional';
import { invalidFields } from '@gatehouse/http/schema';
import { listDialect } from '@gatehouse/lists/list-endpoint';
import { type Answer, send } from '@gatehouse/resource/answer';
import { callerOf } from '@gatehouse/resource/authenticate';
import { type Caller, requireScope } from '@gatehouse/tokens/caller';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PATH_GROUPS, type PathGroup } from './path-groups.ts';
import {
  candidatesOf,
  choose,
  describe,
  guarded,
  idOf,
  type ProfileOptions,
  pathOfOne,
} from './profile-route.ts';
import { bodyShape, listShapes, userShape } from './shapes.ts';
import { type NewUser, TakenError, type Update, type User } from './user.ts';
import {
  governs,
  mayChange,
  mayCreate,
  mayGovern,
  mayList,
  mayRead,
  needsCurrentPassword,
} from './user-access.ts';
import type { UserService } from './user-service.ts';

type Mount = (app: FastifyInstance, group: PathGroup, options: ProfileOptions) => void;
const READ = ['read:users', 'read:all'];
const READ_OWN = [...READ, 'read:profile', 'profile'];
const WRITE = ['write:users'];

/** Lists change all the time, and hold the data of many people. */
const UNKEPT = { 'cache-control': 'no-store' };
/** A caller may keep what it has read of a user, and asks each time whether that is still so. */
const KEPT_BY_CALLER = { 'cache-control': 'private, no-cache' };

/** Registers the routes of all profiles. */
export function mountProfiles(app: FastifyInstance, options: ProfileOptions): void {
  for (const group of PATH_GROUPS) {
    for (const mount of [mountList, mountCreate, mountRead, mountUpdate, mountRemove])
      mount(app, group, options);
  }
}

const mountList: Mount = (app, group, options) => {
  const { prefix } = group;
  const lists = candidatesOf(group, ({ list }) => list);
  const allFilters = lists.flatMap(({ has }) => Object.keys(has.rules.filters));
  const candidates = lists.map(({ profile, has: list }) => {
    const { rules, envelope, item } = list;
    const elsewhere = allFilters.filter((name) => !Object.hasOwn(rules.filters, name));
    const dialect = listDialect({
      name: profile.name,
      rules: { ...rules, path: prefix, elsewhere },
      envelope,
      item: item.schema,
      show: item.show,
      deprecation: options.deprecation,
    });
    return {
      profile,
      has: { dialect, shapes: listShapes(list, dialect, prefix), legacy: rules.legacy === true },
    };
  });
  if (candidates.length === 0) return;

  const route = describe(group, candidates, {
    operation: 'list',
    summary: 'List users',
    scopes: READ,
    query: candidates.map(({ profile, has }) => ({ profile: profile.name, schema: has.dialect.query })),
    answers: {
      200: {
        description: 'A page of the list.',
        shapes: candidates.flatMap(({ has }) => has.shapes),
        headers: {
          Link: 'sometimes',
          ...(candidates.some(({ has }) => has.legacy)
            ? { Deprecation: 'sometimes', Sunset: 'sometimes' }
            : {}),
        },
      },
    },
    refusals: ['invalid'],
  });
  const hooks = guarded(options, READ, mayList);
  app.get(prefix, { ...route, ...hooks }, async (request, reply) => {
    const { dialect } = choose('list', group, candidates, request, options);
    const { headers, text } = await dialect.reply(request.query, options.users.list);
    return send(reply, { status: 200, headers: { ...headers, ...UNKEPT }, text });
  });
};

const mountCreate: Mount = (app, group, options) => {
  const { prefix } = group;
  const { users, idempotency } = options;
  const candidates = candidatesOf(group, ({ create }) => create);
  if (candidates.length === 0) return;
  // Where one user can be read; profile F has no such path.
  const home = group.profiles.some(({ read }) => read !== undefined) ? prefix : '/v1/users';

  const route = describe(group, candidates, {
    operation: 'create',
    summary: 'Create a user',
    scopes: WRITE,
    body: candidates.map(({ has }) => bodyShape(has.body)),
    idempotent: true,
    answers: {
      201: {
        description: 'The user is created.',
        shapes: candidates.map(({ has }) => userShape(has.answer)),
        headers: { Location: 'always', ETag: 'always' },
      },
    },
    refusals: ['invalid', 'conflict'],
  });
  app.post(prefix, { ...route, ...guarded(options, WRITE, mayCreate) }, async (request, reply) => {
    const { body, answer } = choose('create', group, candidates, request, options);
    const draft = body.read(request.body);
    const created = await idempotency.once(request, async ({ reservedId, again }): Promise<Answer> => {
      const user = await createOnce({ ...draft, id: reservedId }, again);
      const headers = { location: `${home}/${user.id}`, etag: etagOf(user.version), ...UNKEPT };
      return { status: 201, headers, text: answer.write(user) };
    });
    return send(reply, created);
  });

  /** An attempt before this one may have created the user, and could not say so any more. */
  function createOnce(draft: NewUser & { id: string }, again: boolean): Promise<User> {
    return users.create(draft).catch((error: unknown) => {
      if (again && error instanceof TakenError)
        return users.read(draft.id).catch(() => Promise.reject(error));
      throw error;
    });
  }
};

const mountRead: Mount = (app, group, options) => {
  const [candidate] = candidatesOf(group, ({ read }) => read);
  if (candidate === undefined) return;
  const { has: view } = candidate;

  const route = describe(group, [candidate], {
    operation: 'read',
    summary: 'Read a user',
    scopes: READ_OWN,
    description: 'read:profile and profile are for one’s own record.',
    conditional: 'read',
    answers: {
      200: { description: 'The user.', shapes: [userShape(view)], headers: { ETag: 'always' } },
    },
    refusals: ['not_found'],
  });
  const hooks = {
    onRequest: [
      options.authenticate,
      async (request: FastifyRequest) => {
        const caller = callerOf(request);
        const id = idOf(request);
        requireScope(caller, caller.person?.id === id ? READ_OWN : READ);
        mayRead(caller, id);
      },
    ],
  };
  app.get(pathOfOne(group), { ...route, ...hooks }, async (request, reply) => {
    const user = await options.users.read(idOf(request));
    const headers = { etag: etagOf(user.version), ...KEPT_BY_CALLER };
    return notModified(request, headers.etag)
      ? send(reply, { status: 304, headers, text: '' })
      : send(reply, { status: 200, headers, text: view.write(user) });
  });
};

const mountUpdate: Mount = (app, group, options) => {
  const { users } = options;
  for (const candidate of candidatesOf(group, ({ update }) => update)) {
    const { method, body, answer } = candidate.has;
    const route = describe(group, [candidate], {
      operation: method === 'PATCH' ? 'patch' : 'update',
      summary: 'Change a user',
      description: 'What the body does not name stays as it is.',
      scopes: WRITE,
      body: [bodyShape(body)],
      conditional: 'write',
      answers: {
        200: {
          description: 'The user as changed.',
          shapes: [userShape(answer)],
          headers: { ETag: 'always' },
        },
      },
      refusals: ['invalid', 'not_found', 'conflict'],
    });
    app.route({
      method,
      url: pathOfOne(group),
      ...route,
      ...guarded(options, WRITE, mayChange),
      handler: async (request, reply) => {
        const id = idOf(request);
        const changes = await permitted(callerOf(request), id, body.read(request.body), users);
        const user = await users.update(id, changes, ifMatch(request));
        const headers = { etag: etagOf(user.version), ...UNKEPT };
        return send(reply, { status: 200, headers, text: answer.write(user) });
      },
    });
  }
};

const mountRemove: Mount = (app, group, options) => {
  const candidates = candidatesOf(group, ({ remove }) => remove);
  if (candidates.length === 0) return;
  const route = describe(group, candidates, {
    operation: 'remove',
    summary: 'Delete a user',
    scopes: WRITE,
    conditional: 'write',
    answers: { 204: { description: 'The user is deleted.' } },
    refusals: ['not_found'],
  });
  const hooks = guarded(options, WRITE, mayChange);
  app.delete(pathOfOne(group), { ...route, ...hooks }, async (request, reply) => {
    await options.users.remove(idOf(request), ifMatch(request));
    return reply.code(204).send();
  });
};

/**
 * The changes that the caller may make. Roles and statuses are for those who govern; others may repeat what they
 * have read. A password that is set so does not need the current one, so it is never one's own.
 */
async function permitted(caller: Caller, id: string, changes: Update, users: UserService): Promise<Update> {
  const { status, password, ...others } = changes;
  if (password !== undefined && needsCurrentPassword(caller, id)) {
    throw invalidFields([{ field: 'password', message: 'is changed at the path of the user and /password' }]);
  }
  if (status === undefined || governs(caller)) return changes;
  if ((await users.read(id)).status !== status) mayGovern(caller);
  return others;
}
