import { addressKeys } from '@gatehouse/api/http/rate-limit';
import { describeProgram } from '@gatehouse/web/user-agent';
import type { Origin } from '../audit/audit.ts';
import type { Account } from './account.ts';
import type { AccountMails } from './account-mails.ts';
import { signedInFromNewDevice } from './account-notices.ts';
import type { Notice } from './notice.ts';

const DAY = 86_400;
/** After a year without a sign-in, a device is new again. */
const DEVICE_SECONDS = 365 * DAY;

/** Tells people of what somebody else may have done to their account. Mails are sent without being waited for. */
export type Notices = {
  /** An account has a new password, or its access has ended, by whatever way; the same epoch may come again. */
  accountChanged(notice: Notice, account: { id: string; epoch: number }): Promise<void>;
  /** Another service has reported something about an account; the same event may come again. */
  reported(notice: Notice, userId: string, event: string): Promise<void>;
  /** `browser` is the id of a browser, for one that has a cookie; `isKnown`, whether that says that it is known. */
  signedIn(account: Account, by: { origin: Origin; browser?: string; isKnown: boolean }): Promise<void>;
};

export function createNotices(options: {
  mails: Pick<AccountMails, 'notify'>;
  seen: { isNew(parts: readonly string[], seconds: number): Promise<boolean> };
}): Notices {
  const { mails, seen } = options;
  return {
    async accountChanged(notice, { id, epoch }) {
      if (await seen.isNew([notice.kind, id, String(epoch)], DAY)) void mails.notify(id, notice);
    },
    async reported(notice, userId, event) {
      if (await seen.isNew([notice.kind, event], DAY)) void mails.notify(userId, notice);
    },
    async signedIn(account, { origin, browser, isKnown }) {
      const program = describeProgram(origin.userAgent);
      // A program has no cookie: it is known by its name, whatever the version, and where it is.
      const device = browser ?? `${program.split('/')[0]} ${addressKeys(origin.address)[0]}`;
      // An end of all sign-ins, such as a recovery, also forgets the device of a thief.
      const parts = ['device', account.id, String(account.sign_in_epoch), device];
      const isNew = await seen.isNew(parts, DEVICE_SECONDS);
      if (!isNew || isKnown) return;
      const { address } = origin;
      void mails.notify(account.id, signedInFromNewDevice({ device: program, address, at: new Date() }));
    },
  };
}
