import { ServiceError } from '@gatehouse/core/errors';
import type { Account, AccountChanges, Accounts } from '../../core/accounts/account.ts';
import type { AccountMails } from '../../core/accounts/account-mails.ts';
import type { Audit, Origin } from '../../core/audit/audit.ts';
import type { SignInThrottle } from '../../core/limits/sign-in-throttle.ts';
import type { LastWay } from '../../core/sessions/last-way.ts';

/** The use cases of people with their own account on our pages. `origin` is where the request came from. */
export type AccountService = {
  /**
   * A new email address needs the current password, if the account has one, and a link to verify it is sent unless too many have been.
   * Throws what the accounts refuse, `invalid` without the password, `forbidden` for a wrong one and `rate_limited`
   * after too many.
   */
  update(
    account: Account,
    changes: AccountChanges,
    more: { currentPassword: string | undefined; origin: Origin },
  ): Promise<{ linkSent: boolean }>;
  /** Throws as `update` does. The current one is null for somebody who has just signed in to an account that has none. */
  changePassword(
    account: Account,
    passwords: { next: string; current: string | null },
    origin: Origin,
  ): Promise<Account>;
  /** For somebody who has just signed in. Ends all sessions. Throws `conflict` if nothing else signs in to the account. */
  removePassword(account: Account, origin: Origin): Promise<Account>;
  /** Throws `rate_limited`. */
  sendVerification(account: Account, origin: Origin): Promise<void>;
};

export function createAccountService(options: {
  accounts: Accounts;
  throttle: SignInThrottle;
  mails: AccountMails;
  audit: Audit;
  lastWay: LastWay;
}): AccountService {
  const { accounts, throttle, mails, audit, lastWay } = options;

  /** Runs a check of the account's password, which throws `forbidden` for a wrong one, as an attempt to sign in. */
  async function throttled<T>(account: Account, { address }: Origin, check: () => Promise<T>): Promise<T> {
    const attempt = await throttle.before({ account, address, knownDevice: true });
    const result = await check().catch(async (error: unknown) => {
      const wrong = error instanceof ServiceError && error.kind === 'forbidden';
      await (wrong ? throttle.failed(attempt) : throttle.abandoned(attempt));
      throw error;
    });
    await throttle.succeeded(attempt);
    return result;
  }

  /** Throws `invalid` for a field that was left empty, which is no attempt. */
  function requireCurrentPassword(password: string, what: string): void {
    if (password !== '') return;
    const message = `is needed to change the ${what}`;
    const details = [{ field: 'current_password', message }];
    throw new ServiceError('invalid', `The current password ${message}.`, { details });
  }

  async function checkCurrentPassword({ id }: Account, password: string): Promise<void> {
    await accounts.checkCurrentPassword(id, password).catch((error: unknown) => {
      if (!(error instanceof ServiceError) || error.kind !== 'forbidden') throw error;
      const problem = { field: 'current_password', message: 'is not right' };
      throw new ServiceError('forbidden', error.message, { details: [problem] });
    });
  }

  /** Sends the link, counted by who asks and from where; the mails count it by who receives it. Throws `rate_limited`. */
  async function sendVerification(account: Account, { address }: Origin): Promise<void> {
    await throttle.countMail({ recipient: account.id, address });
    await mails.sendVerification(account);
  }

  return {
    async update(account, changes, { currentPassword, origin }) {
      // A person who controls the address can reset the password, so a session alone must not be enough.
      if (changes.email !== undefined && currentPassword !== undefined) {
        requireCurrentPassword(currentPassword, 'email address');
        await throttled(account, origin, () => checkCurrentPassword(account, currentPassword));
      }
      const changed = await accounts.update(account.id, changes);
      const details = { fields: Object.keys(changes) };
      await audit.record({ action: 'account.changed', origin, subject: account.id, details });
      if (changes.email === undefined) return { linkSent: false };
      try {
        await sendVerification(changed, origin);
        return { linkSent: true };
      } catch (error) {
        if (error instanceof ServiceError && error.kind === 'rate_limited') return { linkSent: false };
        throw error;
      }
    },
    async changePassword(account, passwords, origin) {
      const { current } = passwords;
      if (current !== null) requireCurrentPassword(current, 'password');
      const change = () => accounts.changePassword(account.id, passwords);
      const changed = await (current === null ? change() : throttled(account, origin, change));
      await audit.record({ action: 'password.changed', origin, subject: account.id });
      return changed;
    },
    async removePassword(account, origin) {
      const remove = () => accounts.removePassword(account.id);
      const changed = await lastWay.removeUnlessLast(account.id, 'password', remove);
      await audit.record({
        action: 'password.changed',
        origin,
        subject: account.id,
        details: { removed: true },
      });
      return changed;
    },
    sendVerification,
  };
}
