import type { Audit } from '../audit/audit.ts';
import type { RevocationEntry } from '../revocations/revocations.ts';
import type { AccountMails } from './account-mails.ts';
import type { Notices } from './notices.ts';

/** A security-relevant change of an account, as the users service reports it. */
type AccountChange = {
  user_id: string;
  epoch: number;
  sign_in_epoch: number;
  reason: string;
  /** The verified address before, if the reason is a new address. */
  previous_email?: string;
};

/**
 * Ends what a change voids: tokens, sign-ins, and tokens of applications. Durable when it resolves, and repeatable. The
 * previous address is notified of a new one, however that was set.
 */
export function createAccountChangeHandler(options: {
  revocations: { write(entries: readonly RevocationEntry[]): Promise<void> };
  store: { endSignIns(accountId: string, belowEpoch: number): Promise<void> };
  logins: { endBelow(accountId: string, epoch: number): Promise<void> };
  applications: { ownerChanged(accountId: string, epoch: number): Promise<void> };
  notices: Pick<Notices, 'passwordChanged'>;
  audit: Pick<Audit, 'record'>;
  mails: Pick<AccountMails, 'notifyEmailChanged'>;
}): (change: AccountChange) => Promise<void> {
  const { revocations, store, logins, applications, notices, audit, mails } = options;
  return async ({ user_id: id, epoch, sign_in_epoch, reason, previous_email: previousEmail }) => {
    if (reason === 'email') {
      // Not awaited: a slow mail server must not delay what else the users service reports.
      if (previousEmail !== undefined) void mails.notifyEmailChanged(id, previousEmail);
      return;
    }
    await revocations.write([{ kind: 'subject', id, epoch }]);
    await store.endSignIns(id, sign_in_epoch);
    await logins.endBelow(id, epoch);
    // A password has no bearing on what the person's applications may do.
    if (reason === 'password') return notices.passwordChanged({ id, epoch });
    await applications.ownerChanged(id, epoch);
    await audit.record({
      action: reason === 'deleted' ? 'account.deleted' : 'account.changed',
      subject: id,
      details: { change: reason },
    });
  };
}
