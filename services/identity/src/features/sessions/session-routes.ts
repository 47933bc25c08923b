import { done, listOf, ok, shape } from '@gatehouse/api/openapi/shapes';
import { ServiceError } from '@gatehouse/core/errors';
import type { Caller } from '@gatehouse/tokens/caller';
import type { Context } from 'koa';
import { type TSchema, Type } from 'typebox';
import type { Accounts } from '../../core/accounts/account.ts';
import { originOf } from '../../core/audit/audit.ts';
import type { BrowserSessions } from '../../core/sessions/browser-sessions.ts';
import {
  type ListedSession,
  listPrograms,
  type ProgramSessions,
} from '../../core/sessions/program-sessions.ts';
import type { SessionEnds } from '../../core/sessions/session-ends.ts';
import type { Api } from '../../http/api.ts';
import { personApi, userParameter } from '../../http/person-api.ts';

const OrNull = (schema: TSchema) => Type.Union([schema, Type.Null()]);
const Time = Type.String({ format: 'date-time' });
/** A session or a login as the API returns it. */
const SessionView = Type.Object({
  id: Type.String(),
  type: Type.String({
    enum: ['browser', 'login'],
    description: 'A session in a browser, or a login by POST /api/v1/auth/login.',
  }),
  client: OrNull(Type.String({ description: 'The User-Agent header.' })),
  address: OrNull(Type.String({ description: 'The IP address.' })),
  created_at: Time,
  last_used_at: Time,
  current: Type.Boolean({ description: 'Whether the token of the request belongs to it.' }),
});
const sessionShape = shape('Session', SessionView, {
  id: 'lgn_01m7g9w2k0000c4v8x3r6t5n1z',
  type: 'login',
  client: 'curl/8.5.0',
  address: '192.0.2.1',
  created_at: '2026-11-02T09:30:00.000Z',
  last_used_at: '2026-11-02T09:30:00.000Z',
  current: true,
});

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
}): Api {
  const { sessions, sessionEnds, programs } = options;
  const api = personApi('/api/v1/sessions', options.authenticate, 'Sessions');
  const user = userParameter(options.accounts, {
    description:
      'The user whose sessions these are; by default the caller. Only admins may name another user.',
    forbidden: 'Only an admin may see and end the sessions of others.',
  });

  const entryOf = (ctx: Context, { subject: actor }: Caller) =>
    ({ action: 'session.ended', origin: originOf(ctx), actor }) as const;

  api.get('list', '/', {
    summary: 'List sessions and logins',
    description: 'The 200 most recently used of each type.',
    query: user.query,
    responses: ok('The sessions and logins of the person.', listOf('Sessions', sessionShape)),
    kinds: ['not_found'],
    async handle({ caller, person, query }) {
      const account = await user.accountOf(person, query);
      const viewAs = (type: 'browser' | 'login') => (it: ListedSession) => ({
        id: it.id,
        type,
        client: it.userAgent ?? null,
        address: it.address ?? null,
        created_at: it.createdAt,
        last_used_at: it.lastUsedAt,
        current: it.id === caller.grantId,
      });
      const inBrowsers = (await sessions.list(account.id)).map(viewAs('browser'));
      const atTheApi = (await listPrograms(programs, account)).map(viewAs('login'));
      return { data: [...inBrowsers, ...atTheApi] };
    },
  });

  api.delete('remove_all', '/', {
    summary: 'End all sessions and logins',
    query: user.query,
    responses: done('The sessions and logins have ended, and so have their tokens.'),
    kinds: ['not_found'],
    async handle({ ctx, caller, person, query }) {
      const { id } = await user.accountOf(person, query);
      await sessionEnds.endAll(id, entryOf(ctx, caller));
    },
  });

  api.delete('remove', '/:id', {
    summary: 'End a session or a login',
    query: user.query,
    responses: done('The session or login has ended, and so have its tokens.'),
    async handle({ ctx, caller, person, query, params }) {
      const { id } = await user.accountOf(person, query);
      const ended = await sessionEnds.end(id, params.id, entryOf(ctx, caller));
      if (!ended) throw new ServiceError('not_found', 'There is no such session.');
    },
  });
  return api;
}
