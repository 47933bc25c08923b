import { bodyValidator, serializer } from '@gatehouse/api/http/schema';
import { callerOf } from '@gatehouse/api/resource/authenticate';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { internalPrefix } from '@gatehouse/core/services';
import { requireInternalAccess } from '@gatehouse/tokens/internal-access';
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { Type } from 'typebox';
import type { User } from '../user.ts';
import type { UserService } from '../user-service.ts';

const PREFIX = internalPrefix('users');

const Nullable = Type.Union([Type.String(), Type.Null()]);
const Account = Type.Object({
  id: Type.String(),
  username: Type.String(),
  email: Nullable,
  email_verified: Type.Boolean(),
  name: Type.String(),
  first_name: Nullable,
  last_name: Nullable,
  phone: Nullable,
  picture: Nullable,
  role: Type.String(),
  status: Type.String(),
  epoch: Type.Integer(),
  sign_in_epoch: Type.Integer(),
  created_at: Type.String(),
  updated_at: Type.String(),
});
const writeAccount = serializer(Account);

const Text = Type.String();
const readCheck = bodyValidator(Type.Object({ login: Text, password: Text }));
const readCurrent = bodyValidator(Type.Object({ password: Text }));
const readLookup = bodyValidator(Type.Object({ login: Text }));
const readNew = bodyValidator(
  Type.Object({ username: Text, email: Text, password: Text, name: Type.Optional(Text) }),
);
/** A field of a form: null and the empty string remove the value. */
const Field = Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'] }));
const readChanges = bodyValidator(
  Type.Object({
    username: Type.Optional(Text),
    email: Type.Optional(Text),
    name: Field,
    first_name: Field,
    last_name: Field,
    phone: Field,
    picture: Field,
  }),
);
const readPassword = bodyValidator(
  Type.Object({ new_password: Text, current_password: Type.Optional(Text) }),
);
const readEmail = bodyValidator(Type.Object({ email: Text }));

type OneAccount = { Params: { id: string } };

/**
 * The routes for accounts, which only identity may call (see SERVICES in kit). `authenticate` is a hook that accepts
 * only tokens for the internal audience of users.
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

  app.post(`${PREFIX}/account-lookups`, guard, async (request, reply) =>
    sendAccountOrNull(reply, await users.lookUp(readLookup(request.body).login)),
  );

  app.post(`${PREFIX}/accounts`, guard, async (request, reply) => {
    const { username, email, password, name } = readNew(request.body);
    const draft = {
      username,
      email,
      password,
      claimsEmail: 'any' as const,
      ...(name === undefined ? {} : { name }),
    };
    return sendAccount(reply.code(201), await users.create(draft));
  });

  const one = `${PREFIX}/accounts/:id`;
  app.get<OneAccount>(one, guard, async (request, reply) =>
    sendAccount(reply, await users.read(request.params.id)),
  );

  app.post<OneAccount>(`${one}/password-checks`, guard, async (request, reply) => {
    await users.checkCurrentPassword(request.params.id, readCurrent(request.body).password);
    return reply.code(204).send();
  });

  app.patch<OneAccount>(one, guard, async (request, reply) => {
    const { username, email, name, first_name, last_name, phone, picture } = readChanges(request.body);
    const fields = { name, firstName: first_name, lastName: last_name, phone, picture };
    const changes = {
      ...omitUndefined({ username, email }),
      ...omitUndefined(
        Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, value === '' ? null : value])),
      ),
    };
    // Identity's pages change nobody's account but that of who is signed in.
    return sendAccount(reply, await users.update(request.params.id, changes, undefined, { own: true }));
  });

  app.put<OneAccount>(`${one}/password`, guard, async (request, reply) => {
    const { new_password: newPassword, current_password: currentPassword } = readPassword(request.body);
    const change = { newPassword, ...(currentPassword === undefined ? {} : { currentPassword }) };
    return sendAccount(reply, await users.changePassword(request.params.id, change));
  });

  app.put<OneAccount>(`${one}/verified-email`, guard, async (request, reply) =>
    sendAccount(reply, await users.verifyEmail(request.params.id, readEmail(request.body).email)),
  );

  app.put<OneAccount>(`${one}/restored-email`, guard, async (request, reply) =>
    sendAccount(reply, await users.restoreEmail(request.params.id, readEmail(request.body).email)),
  );
}

function show(user: User) {
  return {
    id: user.id,
    username: user.username,
    email: user.email,
    email_verified: user.emailVerified,
    name: user.name,
    first_name: user.firstName,
    last_name: user.lastName,
    phone: user.phone,
    picture: user.picture,
    role: user.role,
    status: user.status,
    epoch: user.epoch,
    sign_in_epoch: user.signInEpoch,
    created_at: user.createdAt.toISOString(),
    updated_at: user.updatedAt.toISOString(),
  };
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
