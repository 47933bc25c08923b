import { timeOfId } from '@gatehouse/core/ids';
import type { AuditAction } from '@gatehouse/domain/audit-actions';
import type { RequestedBy } from '@gatehouse/server/requests';
import type { AccountCache } from '../../core/accounts/account-cache.ts';
import type { AccountMails } from '../../core/accounts/account-mails.ts';
import {
  accessRevoked,
  credentialsEnded,
  passwordChanged,
  usernameChanged,
} from '../../core/accounts/account-notices.ts';
import type { Notices } from '../../core/accounts/notices.ts';
import { type Audit, type AuditEntry, entryOfRequest } from '../../core/audit/audit.ts';
import { ACCOUNT_CLIENT } from '../../core/oidc/clients/client-metadata.ts';
import type { RevocationEntry } from '../../core/revocations/revocations.ts';

/** A change of an account that matters to its security or to the audit log, as the users service reports it. */
type AccountChange = {
  /** The id of the event, which may come again. */
  id: string;
  user_id: string;
  epoch: number;
  sign_in_epoch: number;
  reason: string;
  /** The details for the audit log beside the reason. */
  details?: Readonly<Record<string, unknown>>;
  /**
   * The verified address before, if the reason is another address, and whether a link gives it back; the username before, if it is
   * another one, and whether it is held. Both if the account was deleted.
   */
  previous_email?: string;
  previous_username?: string;
  restorable?: boolean;
  /** Whether an admin gave the account back by it, so that no link undoes it. */
  given_back?: boolean;
  /** The caller of the API and the origin. Changes on our own pages are recorded there. */
  by?: RequestedBy;
};

/** Our own pages record these themselves. */
const RECORDED_BY_PAGES: ReadonlySet<string> = new Set(['password', 'email', 'username']);

/** These void nothing. A reason that is not known yet voids what a change of the role does. */
const HARMLESS: ReadonlySet<string> = new Set(['created', 'username', 'email']);

/**
 * Ends what a change voids: tokens, sign-ins, and tokens of applications. Durable when it resolves, and repeatable. People are
 * notified of another address or username, however that was set: of another address at the previous one.
 */
export function createAccountChangeHandler(options: {
  revocations: { write(entries: readonly RevocationEntry[]): Promise<void> };
  sessionEnds: {
    endBelow(
      accountId: string,
      below: { epoch: number; signInEpoch: number; isRevocation?: boolean },
    ): Promise<void>;
  };
  applications: { giverChanged(accountId: string, epoch: number): Promise<void> };
  notices: Pick<Notices, 'accountChanged'>;
  audit: Pick<Audit, 'record'>;
  mails: Pick<AccountMails, 'notify' | 'notifyEmailChanged' | 'sendDeleted'>;
  accountCache: Pick<AccountCache, 'forget'>;
}): (change: AccountChange) => Promise<void> {
  const { revocations, sessionEnds, applications, notices, audit, mails } = options;
  return async (change) => {
    const { user_id: id, epoch, sign_in_epoch, reason, previous_email: email, by } = change;
    const { previous_username: username, restorable = false, given_back = false } = change;
    options.accountCache.forget(id);
    // Where an admin is, or a machine, is no business of the person's.
    const occasion = { at: timeOfId(change.id), address: by?.user_id === id ? by.address : undefined };
    // Not awaited: a slow mail server must not delay what else the users service reports.
    if (reason === 'deleted') {
      // Our own page writes in the language of its visitor.
      const isOfPage = by?.client_id === ACCOUNT_CLIENT;
      if (!isOfPage && email !== undefined && username !== undefined) {
        void mails.sendDeleted({ email, email_verified: true, username });
      }
    } else if (email !== undefined) {
      void mails.notifyEmailChanged(id, { email, isRestorable: restorable }, occasion);
    } else if (username !== undefined) {
      void mails.notify(id, usernameChanged({ before: username, isHeld: restorable }, occasion));
    }
    const isOfEverything = change.details?.scope === 'everything';
    if (!HARMLESS.has(reason)) {
      await revocations.write([{ kind: 'subject', id, epoch }]);
      await sessionEnds.endBelow(id, { epoch, signInEpoch: sign_in_epoch, isRevocation: isOfEverything });
      // A password has no bearing on what the person's applications may do.
      if (reason === 'password') {
        await notices.accountChanged(passwordChanged(occasion, given_back), { id, epoch });
      } else await applications.giverChanged(id, epoch);
      if (reason === 'revoked') {
        const notice = isOfEverything ? accessRevoked : credentialsEnded;
        await notices.accountChanged(notice(occasion), { id, epoch });
      }
    }
    const isOfPages = by === undefined && RECORDED_BY_PAGES.has(reason);
    if (!isOfPages) await audit.record(entryOf(change));
  };
}

function entryOf({ id: event, user_id: subject, reason, details, by }: AccountChange): AuditEntry {
  const action = ACTIONS[reason] ?? 'account.changed';
  const changed = { change: reason, ...details };
  return {
    action,
    event,
    subject,
    ...(by === undefined ? { details: changed } : entryOfRequest(by, changed)),
  };
}

const ACTIONS: Readonly<Record<string, AuditAction>> = {
  created: 'account.created',
  deleted: 'account.deleted',
  password: 'password.changed',
};
