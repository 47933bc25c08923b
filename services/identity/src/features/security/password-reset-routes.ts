import { response, shape } from '@gatehouse/api/openapi/shapes';
import { ServiceError } from '@gatehouse/core/errors';
import type { Caller } from '@gatehouse/tokens/caller';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { Accounts } from '../../core/accounts/account.ts';
import { type AccountMails, NEW_PASSWORD_SECONDS } from '../../core/accounts/account-mails.ts';
import { type Audit, originOf } from '../../core/audit/audit.ts';
import type { Api } from '../../http/api.ts';
import { requireFirstPartyAdmin } from '../../http/first-party.ts';
import { personApi } from '../../http/person-api.ts';

const sentShape = shape(
  'PasswordResetSent',
  Type.Object({
    expires_at: Type.String({ format: 'date-time', description: 'Until when the link works.' }),
  }),
  { expires_at: '2026-11-02T10:00:00.000Z' },
);

/** /api/v1/password-resets: links for a new password that admins have mailed to other people. Errors are thrown. */
export function passwordResetRoutes(options: {
  authenticate(ctx: Context): Promise<Caller>;
  accounts: Pick<Accounts, 'find'>;
  mails: Pick<AccountMails, 'sendPasswordReset'>;
  audit: Pick<Audit, 'record'>;
}): Api {
  const api = personApi(
    '/api/v1/password-resets',
    options.authenticate,
    'Password resets',
    requireFirstPartyAdmin,
  );

  api.post('create', '/', {
    summary: 'Send somebody a link to choose a new password',
    description:
      'The mail that people get who ask for it on the sign-in page, to the confirmed address of the account; the link is in no response. It works ' +
      `once, for ${NEW_PASSWORD_SECONDS / 60} minutes, and an earlier one stops working. Until then the password stays as it is. Mails that people ask for ` +
      'themselves count for the same limit.',
    body: shape('PasswordReset', Type.Object({ user_id: Type.String() }), {
      user_id: 'usr_01m7g9w2k0000c4v8x3r6t5n1z',
    }),
    responses: { 202: response('The mail is on its way.', sentShape) },
    kinds: ['not_found', 'conflict', 'unavailable'],
    async handle({ ctx, person, body }) {
      const account = await options.accounts.find(body.user_id);
      if (account === undefined) throw new ServiceError('not_found', 'There is no such user.');
      const { expiresAt } = await options.mails.sendPasswordReset(account);
      const by = { origin: originOf(ctx), actor: person.id };
      await options.audit.record({ action: 'password_reset.sent', ...by, subject: account.id });
      return { expires_at: expiresAt };
    },
  });
  return api;
}
