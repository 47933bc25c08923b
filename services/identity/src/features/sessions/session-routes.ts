import { queryValidator } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import type { Caller } from '@gatehouse/tokens/caller';
import Router from '@koa/router';
import type { Context } from 'koa';
import { type TSchema, Type } from 'typebox';
import type { Account, Accounts } from '../../core/accounts/account.ts';
import { originOf } from '../../core/audit/audit.ts';
import type { BrowserSessions } from '../../core/sessions/browser-sessions.ts';
import { listPrograms, type ProgramSessions } from '../../core/sessions/program-sessions.ts';
import type { SessionEnds } from '../../core/sessions/session-ends.ts';
import { requireFirstParty } from '../../http/first-party.ts';

export const SessionQuery = Type.Object({
  user_id: Type.Optional(
    Type.String({ description: 'Whose sessions: the own ones by default. Others for admins.' }),
  ),
});
const OrNull = (schema: TSchema) => Type.Union([schema, Type.Null()]);
const Time = Type.String({ format: 'date-time' });
/** A session or a login as the API returns it. */
export const SessionView = Type.Object({
  id: Type.String(),
  type: Type.String({
    enum: ['browser', 'login'],
    description: 'In a browser, or by POST /api/v1/auth/login.',
  }),
  client: OrNull(Type.String({ description: 'The User-Agent header.' })),
  address: OrNull(Type.String({ description: 'The IP address.' })),
  created_at: Time,
  last_used_at: Time,
  current: Type.Boolean({ description: 'Whether it is that of the token in the request.' }),
});
const readQuery = queryValidator(SessionQuery);

/**
 * /api/v1/sessions: where a person is signed in, in browsers and by logins at the API. People see and end their own;
 * admins those of others, named by `user_id`. Errors are thrown.
 */
export function sessionRoutes(options: {
  authenticate(ctx: Context): Promise<Caller>;
  accounts: Pick<Accounts, 'find'>;
  sessions: Pick<BrowserSessions, 'list'>;
  sessionEnds: Pick<SessionEnds, 'end' | 'endAll'>;
  programs: readonly Pick<ProgramSessions, 'list'>[];
}): Router {
  const { accounts, sessions, sessionEnds, programs } = options;
  const router = new Router({ prefix: '/api/v1/sessions', sensitive: true });

  router.use(async (ctx, next) => {
    ctx.set('cache-control', 'no-store');
    await next();
  });

  /** Whose sessions the request is about. */
  async function accountOf(ctx: Context): Promise<{ caller: Caller; account: Account }> {
    const caller = await options.authenticate(ctx);
    const person = requireFirstParty(caller, 'Sessions');
    const { user_id: id = person.id } = readQuery(ctx.query);
    if (id !== person.id && person.role !== 'admin') {
      throw new ServiceError('forbidden', 'Only an admin may see and end the sessions of others.');
    }
    const account = await accounts.find(id);
    if (account === undefined) throw new ServiceError('not_found', 'There is no such user.');
    return { caller, account };
  }

  const entryOf = (ctx: Context, { subject: actor }: Caller) =>
    ({ action: 'session.ended', origin: originOf(ctx), actor }) as const;

  router.get('/', async (ctx) => {
    const { caller, account } = await accountOf(ctx);
    const inBrowsers = (await sessions.list(account.id)).map(({ uid, device, signedInAt, lastSeenAt }) => ({
      id: uid,
      type: 'browser',
      client: device?.userAgent ?? null,
      address: device?.address ?? null,
      created_at: signedInAt,
      last_used_at: lastSeenAt,
      current: false,
    }));
    const atTheApi = (await listPrograms(programs, account)).map((login) => ({
      id: login.id,
      type: 'login',
      client: login.userAgent ?? null,
      address: login.address,
      created_at: login.createdAt,
      last_used_at: login.lastUsedAt,
      current: login.id === caller.grantId,
    }));
    ctx.body = { data: [...inBrowsers, ...atTheApi] };
  });

  router.delete('/', async (ctx) => {
    const { caller, account } = await accountOf(ctx);
    await sessionEnds.endAll(account.id, entryOf(ctx, caller));
    ctx.status = 204;
  });

  router.delete('/:id', async (ctx) => {
    const { caller, account } = await accountOf(ctx);
    const ended = await sessionEnds.end(account.id, String(ctx.params.id), entryOf(ctx, caller));
    if (!ended) throw new ServiceError('not_found', 'There is no such session.');
    ctx.status = 204;
  });
  return router;
}
