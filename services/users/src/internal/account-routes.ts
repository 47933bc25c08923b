import { bodyValidator, serializer } from '@gatehouse/api/http/schema';
import { callerOf } from '@gatehouse/api/resource/authenticate';
import { ServiceError } from '@gatehouse/core/errors';
import { isId } from '@gatehouse/core/ids';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { internalPrefix } from '@gatehouse/core/services';
import { inSnakeCase } from '@gatehouse/domain/fields';
import { requireInternalAccess } from '@gatehouse/tokens/internal-access';
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { Type } from 'typebox';
import type { User, UserRole } from '../user.ts';
import { CHANGEABLE_FIELDS, USER, USER_ROLES } from '../user-fields.ts';
import type { UserService } from '../user-service.ts';

const PREFIX = internalPrefix('users');
/** That are read by one request. */
const MAX_ACCOUNTS = 100;

const Nullable = Type.Union([Type.String(), Type.Null()]);
const SCHEMAS = {
  boolean: Type.Boolean(),
  number: Type.Integer(),
  date: Type.Unsafe<Date | null>({ type: ['string', 'null'] }),
};
/** The properties that the users service keeps to itself. */
const HIDDEN: ReadonlySet<string> = new Set([
  'version',
  'emailReplacedAt',
  'heldUsername',
  'usernameHeldUntil',
  'loweredAt',
  'loweredBy',
]);
/** The properties of a user in responses, and their names there. */
const SHOWN = Object.entries(USER).filter(([property]) => !HIDDEN.has(property));
const PROPERTIES = SHOWN.map(([property, { definition }]) => ({
  property: property as keyof User,
  name: inSnakeCase(property),
  schema: SCHEMAS[definition.type as keyof typeof SCHEMAS] ?? Nullable,
}));
const Account = Type.Unsafe<object>(
  Type.Object(Object.fromEntries(PROPERTIES.map(({ name, schema }) => [name, schema]))),
);
const writeAccount = serializer(Account);

const Text = Type.String();
const readCheck = bodyValidator(Type.Object({ login: Text, password: Text }));
const readCurrent = bodyValidator(Type.Object({ password: Text }));
const readLookup = bodyValidator(Type.Object({ login: Text }));
const readNew = bodyValidator(
  Type.Object({
    id: Type.Optional(Text),
    username: Type.Optional(Text),
    email: Text,
    password: Type.Optional(Text),
    name: Type.Optional(Text),
    role: Type.Optional(Type.Unsafe<UserRole>({ type: 'string', enum: [...USER_ROLES] })),
  }),
);
/** The fields that a person may remove from their account. */
const REMOVABLE = PROPERTIES.filter(
  ({ property }) =>
    CHANGEABLE_FIELDS.some((it) => it === property && it !== 'email') &&
    USER[property].definition.fallback === null,
);
/** A field of a form: null and the empty string remove the value. */
const Field = Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'] }));
const readChanges = bodyValidator(
  Type.Unsafe<{ username?: string; email?: string; [name: string]: string | null | undefined }>(
    Type.Object({
      username: Type.Optional(Text),
      email: Type.Optional(Text),
      ...Object.fromEntries(REMOVABLE.map(({ name }) => [name, Field])),
    }),
  ),
);
const readPassword = bodyValidator(
  Type.Object({
    new_password: Text,
    current_password: Type.Optional(Type.Union([Text, Type.Null()])),
    is_recovery: Type.Optional(Type.Boolean()),
    is_set_up: Type.Optional(Type.Boolean()),
  }),
);
const readEmail = bodyValidator(Type.Object({ email: Text }));

/** The request by which a person acts on their own account, for the audit log. */
const BY_PERSON = {
  client_id: Text,
  address: Text,
  user_agent: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
  request_id: Text,
};
const readByPerson = bodyValidator(Type.Object(BY_PERSON));
const readRevocation = bodyValidator(
  Type.Object({
    ...BY_PERSON,
    everything: Type.Optional(Type.Boolean()),
    kept: Type.Optional(Type.Array(Text, { maxItems: 500 })),
  }),
);

type OneAccount = { Params: { id: string } };

/**
 * The routes for accounts; SERVICES in core says which service may call which. `authenticate` is a hook that accepts only tokens for
 * the internal audience of users.
 */
export function mountAccountRoutes(
  app: FastifyInstance,
  { users, authenticate }: { users: UserService; authenticate: onRequestAsyncHookHandler },
): void {
  // Hooks that run before the body is read.
  const guard = {
    onRequest: [
      authenticate,
      async (request: FastifyRequest) =>
        requireInternalAccess(callerOf(request), request.routeOptions.url ?? ''),
    ],
  };

  app.post(`${PREFIX}/password-checks`, guard, async (request, reply) => {
    const { login, password } = readCheck(request.body);
    return sendAccountOrNull(reply, await users.checkPassword(login, password));
  });

  app.post(`${PREFIX}/password-checks/breached`, guard, async (request) => ({
    breached: await users.isBreachedPassword(readCurrent(request.body).password),
  }));

  app.post(`${PREFIX}/account-lookups`, guard, async (request, reply) =>
    sendAccountOrNull(reply, await users.lookUp(readLookup(request.body).login)),
  );

  app.post(`${PREFIX}/accounts`, guard, async (request, reply) => {
    const { id, username, email, password, name, role } = readNew(request.body);
    if (id !== undefined && !isId('usr', id)) throw new ServiceError('invalid', 'This is no id of a user.');
    // Field by field: the body may hold others, such as an epoch.
    const fields = omitUndefined({ id, username, password, name, role });
    const draft = { email, ...fields, claimsEmail: 'any' as const };
    return sendAccount(reply.code(201), await users.create(draft));
  });

  const one = `${PREFIX}/accounts/:id`;
  app.get<{ Querystring: { ids?: unknown } }>(`${PREFIX}/accounts`, guard, async (request, reply) => {
    const ids = String(request.query.ids ?? '').split(',');
    if (ids.length > MAX_ACCOUNTS) {
      throw new ServiceError('invalid', `A request reads ${MAX_ACCOUNTS} accounts at most.`);
    }
    const found = await Promise.all(ids.map((id) => users.read(id).catch(undefinedIfMissing)));
    const accounts = found.map((user) => (user === undefined ? 'null' : writeAccount(show(user))));
    return json(reply, `{"accounts":[${accounts.join()}]}`);
  });

  app.post<OneAccount>(`${one}/password-checks`, guard, async (request, reply) => {
    await users.checkCurrentPassword(request.params.id, readCurrent(request.body).password);
    return reply.code(204).send();
  });

  app.patch<OneAccount>(one, guard, async (request, reply) => {
    const body = readChanges(request.body);
    const { username, email } = body;
    const personal = REMOVABLE.map(({ property, name }) => [property, body[name] === '' ? null : body[name]]);
    const changes = omitUndefined({ username, email, ...Object.fromEntries(personal) });
    // Identity's pages change nobody's account but that of who is signed in.
    return sendAccount(reply, await users.update(request.params.id, changes, undefined, { own: true }));
  });

  app.put<OneAccount>(`${one}/password`, guard, async (request, reply) => {
    const body = readPassword(request.body);
    const { new_password: newPassword, current_password: currentPassword } = body;
    const { is_recovery: isRecovery, is_set_up: isSetUp } = body;
    const change = { newPassword, ...omitUndefined({ currentPassword, isRecovery, isSetUp }) };
    return sendAccount(reply, await users.changePassword(request.params.id, change));
  });

  app.post<OneAccount>(`${one}/revocations`, guard, async (request, reply) => {
    const { id } = request.params;
    const { everything = false, kept = [], ...source } = readRevocation(request.body);
    const by = { ...source, user_id: id };
    return sendAccount(reply, await users.revoke(id, { everything, kept, by }));
  });

  // The person asked for it themselves: identity's pages delete nobody else's account.
  app.delete<OneAccount>(one, guard, async (request, reply) => {
    const { id } = request.params;
    await users.remove(id, undefined, { ...readByPerson(request.body), user_id: id });
    return reply.code(204).send();
  });

  app.get<OneAccount>(`${one}/password`, guard, async (request) => ({
    exists: await users.hasPassword(request.params.id),
  }));

  app.delete<OneAccount>(`${one}/password`, guard, async (request, reply) =>
    sendAccount(reply, await users.removePassword(request.params.id)),
  );

  app.put<OneAccount>(`${one}/verified-email`, guard, async (request, reply) =>
    sendAccount(reply, await users.verifyEmail(request.params.id, readEmail(request.body).email)),
  );

  app.put<OneAccount>(`${one}/restored-email`, guard, async (request, reply) =>
    sendAccount(reply, await users.restoreEmail(request.params.id, readEmail(request.body).email)),
  );

  // For the service that sends messages. What was registered with a credential of a lower epoch has ended.
  app.get<OneAccount>(`${PREFIX}/contacts/:id`, guard, async (request, reply) => {
    const { email, phone, epoch } = await users.read(request.params.id);
    return reply.header('cache-control', 'no-store').send({ email, phone, epoch });
  });

  // For services that refer to users, and learn nothing else about them.
  app.get<OneAccount>(`${PREFIX}/existence/:id`, guard, async (request, reply) =>
    reply.header('cache-control', 'no-store').send({ exists: await users.exists(request.params.id) }),
  );
}

function undefinedIfMissing(error: unknown): undefined {
  if (!(error instanceof ServiceError && error.kind === 'not_found')) throw error;
}

function show(user: User) {
  return Object.fromEntries(PROPERTIES.map(({ property, name }) => [name, user[property]]));
}

function sendAccount(reply: FastifyReply, user: User): FastifyReply {
  return json(reply, writeAccount(show(user)));
}

function sendAccountOrNull(reply: FastifyReply, user: User | undefined): FastifyReply {
  return json(reply, `{"account":${user === undefined ? 'null' : writeAccount(show(user))}}`);
}

/** Sends a string that is already JSON. */
function json(reply: FastifyReply, text: string): FastifyReply {
  return reply
    .type('application/json; charset=utf-8')
    .header('cache-control', 'no-store')
    .serializer(String)
    .send(text);
}
