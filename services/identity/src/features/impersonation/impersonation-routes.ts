import { invalidFields } from '@gatehouse/api/http/schema';
import { response, shape } from '@gatehouse/api/openapi/shapes';
import { ServiceError } from '@gatehouse/core/errors';
import type { Caller } from '@gatehouse/tokens/caller';
import { API_SCOPES, apiAudience, ceilingOf } from '@gatehouse/tokens/scopes';
import { FRESH, requireSignIn } from '@gatehouse/tokens/step-up';
import { decodeProtectedHeader } from 'jose';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { Account, Accounts } from '../../core/accounts/account.ts';
import type { AccountMails } from '../../core/accounts/account-mails.ts';
import { type Audit, originOf } from '../../core/audit/audit.ts';
import type { Revocations } from '../../core/revocations/revocations.ts';
import { actOf } from '../../core/tokens/act-claim.ts';
import { acceptedUntil } from '../../core/tokens/clock-margin.ts';
import type { TokenSigning } from '../../core/tokens/token-signing.ts';
import type { Api } from '../../http/api.ts';
import { requireFirstPartyAdmin } from '../../http/first-party.ts';
import { personApi } from '../../http/person-api.ts';
import { accountImpersonated } from './impersonation-notice.ts';

/** The longest that an admin acts as somebody else, in seconds. */
const SECONDS = 900;
const MAX_REASON = 500;

const Draft = Type.Object({
  user_id: Type.String({ maxLength: 254 }),
  reason: Type.String({
    maxLength: MAX_REASON,
    description: 'It is in the audit log and in the mail to the user.',
  }),
});
const tokenShape = shape(
  'ImpersonationToken',
  Type.Object({
    access_token: Type.String(),
    expires_in: Type.Integer({ description: 'In seconds.' }),
    scope: Type.String(),
  }),
  { access_token: 'eyJhbGciOiJFUzI1NiJ9.…', expires_in: SECONDS, scope: 'read:data' },
);

/** /api/v1/impersonations: access tokens by which admins act as other people. Errors are thrown. */
export function impersonationRoutes(options: {
  issuer: string;
  lifetimes: { accessToken: number };
  authenticate(ctx: Context): Promise<Caller>;
  accounts: Pick<Accounts, 'find'>;
  revocations: Pick<Revocations, 'noteDerived'>;
  signing: Pick<TokenSigning, 'signer'>;
  mails: Pick<AccountMails, 'notify'>;
  audit: Pick<Audit, 'record'>;
}): Api {
  const { revocations } = options;
  const lifetime = Math.min(SECONDS, options.lifetimes.accessToken);
  const api = personApi(
    '/api/v1/impersonations',
    options.authenticate,
    'Impersonations',
    requireFirstPartyAdmin,
  );

  api.post('create', '/', {
    summary: 'Act as another user',
    description:
      'For an admin who has signed in within the last five minutes. The token works for 15 minutes at most, and ends with that of the admin. It ' +
      'names the admin as `act`, and can neither change accounts nor do what takes a fresh sign-in, such as large refunds. The user gets a mail with the reason.',
    body: shape('Impersonation', Draft, {
      user_id: 'usr_01m7g9w2k0000c4v8x3r6t5n1z',
      reason: 'The orders of the user are not listed (ticket 4711).',
    }),
    responses: { 201: response('The token.', tokenShape) },
    kinds: ['not_found', 'conflict', 'unavailable'],
    async handle({ ctx, caller, person, body }) {
      requireSignIn(caller, FRESH);
      const reason = body.reason.trim();
      if (!/[\p{L}\p{N}]/u.test(reason)) throw invalidFields([{ field: 'reason', message: 'is required' }]);
      if (body.user_id === person.id) {
        throw invalidFields([{ field: 'user_id', message: 'must be of another user' }]);
      }
      const account = await options.accounts.find(body.user_id);
      if (account === undefined) throw new ServiceError('not_found', 'There is no such user.');
      if (account.role === 'admin') throw new ServiceError('forbidden', 'Admins cannot be impersonated.');
      if (account.status !== 'active') throw new ServiceError('conflict', 'The account is inactive.');
      const scope = scopesAs(account).join(' ');
      const { token, jti } = await options.signing.signer()({
        ...{ subject: account.id, clientId: caller.clientId, audience: apiAudience(options.issuer) },
        ...{ scope, lifetime },
        claims: {
          ...{ act: actOf([person.id]), roles: [account.role] },
          epoch: { client: caller.epoch.client, subject: account.epoch },
        },
      });
      await revocations.noteDerived(
        { tokenId: jti, restsOn: supportOf(ctx, caller, person.id) },
        acceptedUntil(lifetime),
      );
      await options.audit.record({
        ...{ action: 'account.impersonated', origin: originOf(ctx), actor: person.id },
        ...{ subject: account.id, client: caller.clientId, details: { reason, scope } },
      });
      const { address } = originOf(ctx);
      void options.mails.notify(
        account.id,
        accountImpersonated(person.id, reason, { at: new Date(), address }),
      );
      return { access_token: token, expires_in: lifetime, scope };
    },
  });
  return api;
}

/** The scopes of the user, except for changes of accounts: those are for the person, and for admins as themselves. */
function scopesAs({ role }: Pick<Account, 'role'>): string[] {
  const ceiling: readonly string[] = ceilingOf(role);
  return API_SCOPES.filter((scope) => scope !== 'write:users' && ceiling.includes(scope));
}

/** The credential of the admin, and what that rests on. */
function supportOf(ctx: Context, { tokenId, grantId, epoch }: Caller, admin: string) {
  const { kid = '' } = decodeProtectedHeader(ctx.get('authorization').split(' ').at(-1) ?? '');
  return [
    { kind: 'token', id: tokenId ?? '' },
    { kind: 'key', id: kid },
    { kind: 'subject', id: admin, epoch: epoch.subject },
    ...(grantId === undefined ? [] : [{ kind: 'grant', id: grantId }]),
  ];
}
