import type { Audit, AuditAction, AuditEntry } from '../audit/audit.ts';
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
  /** Who made it through the API, and from where. What people change on our own pages is recorded there. */
  by?: { user_id: string | null; client_id: string; address: string; request_id: string };
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
  return async ({ user_id: id, epoch, sign_in_epoch, reason, previous_email: previousEmail, by }) => {
    if (reason === 'email') {
      // Not awaited: a slow mail server must not delay what else the users service reports.
      if (previousEmail !== undefined) void mails.notifyEmailChanged(id, previousEmail);
    } else {
      await revocations.write([{ kind: 'subject', id, epoch }]);
      await store.endSignIns(id, sign_in_epoch);
      await logins.endBelow(id, epoch);
      // A password has no bearing on what the person's applications may do.
      if (reason === 'password') await notices.passwordChanged({ id, epoch });
      else await applications.ownerChanged(id, epoch);
    }
    const isOfPages = by === undefined && (reason === 'password' || reason === 'email');
    if (!isOfPages) await audit.record(entryOf(id, reason, by));
  };
}

function entryOf(subject: string, reason: string, by: AccountChange['by']): AuditEntry {
  const action = ACTIONS[reason] ?? 'account.changed';
  const details = { change: reason };
  if (by === undefined) return { action, subject, details };
  const { user_id: actor, client_id: client, address, request_id: requestId } = by;
  return { action, subject, actor, client, origin: { address, userAgent: undefined, requestId }, details };
}

const ACTIONS: Readonly<Record<string, AuditAction>> = {
  deleted: 'account.deleted',
  password: 'password.changed',
};
