import { callerOf } from '@gatehouse/http/auth';
import type { ErrorBody } from '@gatehouse/http/error-bodies';
import { bodyValidator, queryValidator, serializer } from '@gatehouse/http/schema';
import { requireScope } from '@gatehouse/tokens/caller';
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import type { Static, TObject, TSchema } from 'typebox';
import type { NewUser, OffsetPage, User, UserChanges, UserPage } from './user.ts';
import { mayChange, mayCreate, mayList, mayRead } from './user-access.ts';
import type { Users } from './users.ts';

/**
 * An API profile: one dialect in which the interface speaks of users. It is a value that says how requests
 * are read and answers written; mountProfile makes routes of it. An operation that is absent is not served.
 */
export type Profile = {
  name: string;
  prefix: string;
  errorBody: ErrorBody;
  list?: List;
  create?: { draft: Reader<NewUser>; reply: Writer<User> };
  read?: { reply: Writer<User> };
  update?: { method: 'PUT' | 'PATCH'; changes: Reader<UserChanges>; reply: Writer<User> };
  remove?: true;
};

/** Reads a part of a request; throws `invalid`. */
type Reader<T> = (input: unknown) => T;
/** Writes an answer as JSON text. */
type Writer<T> = (value: T) => string;
type List = { page: Reader<OffsetPage>; reply: (found: UserPage, page: OffsetPage) => string };

/** A body that is checked against a schema and turned into what the use case takes. */
export function body<S extends TSchema, T>(schema: S, read: (body: Static<S>) => T): Reader<T> {
  const validate = bodyValidator(schema);
  return (input) => read(validate(input));
}

/** A user as the profile shows it. */
export function view<S extends TSchema>(schema: S, show: (user: User) => Static<S>): Writer<User> {
  const write = serializer(schema);
  return (user) => write(show(user));
}

/** A list that pages by offset. */
export function offsetList<Q extends TObject, S extends TSchema>(
  query: Q & (Static<Q> extends OffsetPage ? unknown : never),
  envelope: S,
  show: (found: UserPage, page: OffsetPage) => Static<S>,
): List {
  const validate = queryValidator(query);
  const write = serializer(envelope);
  return {
    page: (input) => validate(input) as OffsetPage,
    reply: (found, page) => write(show(found, page)),
  };
}

type OneUser = { Params: { id: string } };

const READ = ['read:users', 'read:all'];
const READ_OWN = [...READ, 'read:profile', 'profile'];
const WRITE = ['write:users'];

/** Registers the routes of a profile. `authenticate` is the hook that puts a caller on the request. */
export function mountProfile(
  app: FastifyInstance,
  profile: Profile,
  { users, authenticate }: { users: Users; authenticate: onRequestAsyncHookHandler },
): void {
  const { prefix, list, create, read, update, remove } = profile;
  // Both run before the body is read.
  const guarded = (guard: (request: FastifyRequest) => void) => ({
    onRequest: [authenticate, async (request: FastifyRequest) => guard(request)],
  });
  const one = `${prefix}/:id`;

  if (list !== undefined) {
    const guard = guarded((request) => {
      const caller = callerOf(request);
      requireScope(caller, READ);
      mayList(caller);
    });
    app.get(prefix, guard, async (request, reply) => {
      const page = list.page(request.query);
      return json(reply, 200, list.reply(await users.list(page), page));
    });
  }

  if (create !== undefined) {
    const guard = guarded((request) => {
      const caller = callerOf(request);
      requireScope(caller, WRITE);
      mayCreate(caller);
    });
    app.post(prefix, guard, async (request, reply) => {
      const user = await users.create(create.draft(request.body));
      reply.header('location', `${prefix}/${user.id}`);
      return json(reply, 201, create.reply(user));
    });
  }

  if (read !== undefined) {
    const guard = guarded((request) => {
      const caller = callerOf(request);
      const id = idOf(request);
      requireScope(caller, caller.person?.id === id ? READ_OWN : READ);
      mayRead(caller, id);
    });
    app.get<OneUser>(one, guard, async (request, reply) =>
      json(reply, 200, read.reply(await users.read(request.params.id))),
    );
  }

  const mayChangeThis = guarded((request) => {
    const caller = callerOf(request);
    requireScope(caller, WRITE);
    mayChange(caller, idOf(request));
  });

  if (update !== undefined) {
    app.route<OneUser>({
      method: update.method,
      url: one,
      ...mayChangeThis,
      handler: async (request, reply) =>
        json(reply, 200, update.reply(await users.update(request.params.id, update.changes(request.body)))),
    });
  }

  if (remove === true) {
    app.delete<OneUser>(one, mayChangeThis, async (request, reply) => {
      await users.remove(request.params.id);
      return reply.code(204).send();
    });
  }
}

function idOf(request: FastifyRequest): string {
  return (request.params as { id: string }).id;
}

/** The text is JSON already: the profile's own serializer has written it. */
function json(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).type('application/json; charset=utf-8').serializer(String).send(text);
}
