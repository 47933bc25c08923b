import type { AccountMails } from '../../core/accounts/account-mails.ts';
import type { Audit, Origin } from '../../core/audit/audit.ts';
import type { Passkey } from './passkey.ts';
import { passkeyAdded, passkeyRemoved } from './passkey-notices.ts';

/** Records that a passkey was added or removed, by its owner unless an actor is named, and mails it to the owner. */
export type RecordPasskey = (
  change: 'added' | 'removed',
  userId: string,
  passkey: Pick<Passkey, 'id' | 'name'>,
  by: { origin: Origin; actor?: string },
) => Promise<void>;

/**
 * Removes a passkey, and ends the sessions that began with it; the one with the uid `keep` remains. Returns whether there was one,
 * which is then recorded.
 */
export type RemovePasskey = (
  userId: string,
  passkey: Pick<Passkey, 'id' | 'name'>,
  by: { origin: Origin; actor?: string },
  keep?: string,
) => Promise<boolean>;

export function createRecordPasskey(options: {
  mails: Pick<AccountMails, 'notify'>;
  audit: Audit;
}): RecordPasskey {
  const { mails, audit } = options;
  return async (change, userId, passkey, by) => {
    const details = { passkey: passkey.id };
    await audit.record({ action: `passkey.${change}`, ...by, subject: userId, details });
    const notice = change === 'added' ? passkeyAdded : passkeyRemoved;
    void mails.notify(userId, notice(passkey, { at: new Date(), address: by.origin.address }));
  };
}
