import { done, ok, response, shape } from '@gatehouse/api/openapi/shapes';
import { ServiceError } from '@gatehouse/core/errors';
import type { Caller } from '@gatehouse/tokens/caller';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { Accounts } from '../../core/accounts/account.ts';
import type { AccountMails } from '../../core/accounts/account-mails.ts';
import { type Audit, originOf } from '../../core/audit/audit.ts';
import type { Authority } from '../../core/authority/authority.ts';
import type { FactorList } from '../../core/sessions/listed-factors.ts';
import type { ProgramSessions } from '../../core/sessions/program-sessions.ts';
import type { Api } from '../../http/api.ts';
import { personApi, userParameter } from '../../http/person-api.ts';

/** How old a login may be, in seconds, by which people remove their own. */
const FRESH_SECONDS = 300;

const Time = Type.String({ format: 'date-time' });
const factorShape = shape(
  'Factor',
  Type.Object({
    id: Type.String(),
    type: Type.String({ enum: ['passkey', 'authenticator_app'] }),
    name: Type.Union([Type.String(), Type.Null()], { description: 'The name of a passkey.' }),
    created_at: Time,
    last_used_at: Type.Union([Time, Type.Null()]),
    recovery_codes_left: Type.Optional(Type.Integer({ description: 'Of an authenticator app.' })),
  }),
  {
    ...{ id: 'app_01m7g9w2k0000c4v8x3r6t5n1z', type: 'authenticator_app', name: null },
    ...{ created_at: '2026-11-02T09:30:00.000Z', last_used_at: null, recovery_codes_left: 10 },
  },
);
const factorsShape = {
  ...{ name: 'Factors', parts: [factorShape] },
  schema: Type.Object({
    data: Type.Array(factorShape.schema),
    email_verified: Type.Boolean({ description: 'Whether the person has confirmed the email address.' }),
  }),
};

const SetUpLinkDraft = Type.Object({ user_id: Type.String() });
const setUpLinkShape = shape(
  'SetUpLink',
  Type.Object({ url: Type.String({ format: 'uri' }), expires_at: Time }),
  {
    url: 'https://id.example.com/account/set-up-sign-in?token=6rT0J8mQ2vXw',
    expires_at: '2026-11-03T09:30:00.000Z',
  },
);

/**
 * /api/v1/factors: the passkeys and second factors of an account, never their secrets. People see and remove their own; admins
 * those of others, named by `user_id`. Errors are thrown.
 */
export function factorRoutes(options: {
  authenticate(ctx: Context): Promise<Caller>;
  accounts: Pick<Accounts, 'find'>;
  mails: Pick<AccountMails, 'createSetUpLink'>;
  audit: Pick<Audit, 'record'>;
  authority: Pick<Authority, 'give'>;
  factors: readonly FactorList[];
  /** The kinds of logins at the API. */
  programs: readonly Pick<ProgramSessions, 'clientId'>[];
}): Api {
  const { factors } = options;
  const api = personApi('/api/v1/factors', options.authenticate, 'Factors');
  const user = userParameter(options.accounts, {
    description:
      'The user whose factors these are; by default the caller. Only admins may name another user.',
    forbidden: 'Only an admin may see and remove the factors of others.',
  });

  /** Whether a login of then is of the last minutes, and had to prove the second factor that the account has now. */
  async function isFresh(userId: string, authTime = 0): Promise<boolean> {
    if (Date.now() / 1000 - authTime > FRESH_SECONDS) return false;
    const listed = (await Promise.all(factors.map(({ list }) => list(userId)))).flat();
    const apps = listed.filter(({ type }) => type === 'authenticator_app');
    return apps.every(({ createdAt }) => createdAt.getTime() < authTime * 1000);
  }

  api.get('list', '/', {
    summary: 'List passkeys and second factors',
    query: user.query,
    responses: ok('The factors of the person, without their secrets.', factorsShape),
    kinds: ['not_found'],
    async handle({ person, query }) {
      const { id, email_verified } = await user.accountOf(person, query);
      const lists = await Promise.all(factors.map(({ list }) => list(id)));
      return {
        data: lists.flat().map(({ recoveryCodesLeft, ...it }) => ({
          ...{ id: it.id, type: it.type, name: it.name },
          ...{ created_at: it.createdAt, last_used_at: it.lastUsedAt },
          ...(recoveryCodesLeft === undefined ? {} : { recovery_codes_left: recoveryCodesLeft }),
        })),
        email_verified,
      };
    },
  });

  api.post('create', '/set-up-links', {
    summary: 'Create a link to set up a sign-in again',
    description:
      'For an admin to give to somebody who cannot sign in any more, after making sure who that is. Whoever opens it chooses a password; all ' +
      'passkeys, connected accounts, the authenticator app and all sessions end with that. It works once, for 24 hours, is in this ' +
      'response only, and an earlier one of the same user stops working. The user gets a mail about it.',
    body: shape('SetUpLinkDraft', SetUpLinkDraft, { user_id: 'usr_01m7g9w2k0000c4v8x3r6t5n1z' }),
    responses: { 201: response('The link.', setUpLinkShape) },
    kinds: ['not_found', 'conflict'],
    async handle({ ctx, caller, person, body }) {
      if (person.role !== 'admin')
        throw new ServiceError('forbidden', 'Only an admin may create such a link.');
      const account = await user.accountOf(person, body);
      // An open session alone must not be enough to keep the account.
      if (account.id === person.id) {
        throw new ServiceError('forbidden', 'You cannot create such a link for yourself. Ask another admin.');
      }
      if (account.status !== 'active') throw new ServiceError('conflict', 'The account is inactive.');
      const given = await options.authority.give('set_up_link', {
        ...{ id: person.id, epoch: caller.epoch.subject },
      });
      const { url, expiresAt } = await options.mails.createSetUpLink(account, given);
      const by = { origin: originOf(ctx), actor: person.id };
      await options.audit.record({ action: 'set_up_link.created', ...by, subject: account.id });
      return { url, expires_at: expiresAt };
    },
  });

  api.delete('remove', '/:id', {
    summary: 'Remove a passkey or an authenticator app',
    description:
      'An app goes with its recovery codes. The sessions that began with a passkey end with it. People remove their own with the token of a login at the API of the last five minutes.',
    query: user.query,
    responses: done('The factor is removed, and its owner gets a mail.'),
    async handle({ ctx, caller, person, query, params }) {
      const { id } = await user.accountOf(person, query);
      const isLogin = options.programs.some(({ clientId }) => clientId === caller.clientId);
      // A sign-in to the dashboard may be without a code, in a remembered browser.
      if (id === person.id && !(isLogin && (await isFresh(id, caller.authTime)))) {
        throw new ServiceError(
          'forbidden',
          'Log in again with POST /api/v1/auth/login: the login must be of the last five minutes, with all factors.',
        );
      }
      const by = { origin: originOf(ctx), actor: caller.subject };
      for (const { remove } of factors) if (await remove(id, params.id, by)) return;
      throw new ServiceError('not_found', 'There is no such factor.');
    },
  });
  return api;
}
