import type { Logger } from '@gatehouse/kit/logger';
import { requestInfo } from '@gatehouse/kit/requests';
import type { Context } from 'koa';
import type { Account, Accounts } from '../accounts/account.ts';
import { type Audit, originOf } from '../audit/audit.ts';
import type { SignInThrottle } from './sign-in-throttle.ts';

export type PasswordAttempt = {
  login: string;
  password: string;
  /** The application that the person signs in to. */
  client: string;
  /** Whether this browser has signed in to this account before. */
  knownDevice: boolean;
};

/**
 * The account with this username or verified email address and this password; undefined when there is none.
 * Throws `rate_limited` after too many failures, and `unavailable` when the accounts cannot be reached.
 */
export type PasswordCheck = (ctx: Context, attempt: PasswordAttempt) => Promise<Account | undefined>;

/** Checks a password, throttled and audited. Every way to sign in goes through here. */
export function createPasswordCheck(options: {
  accounts: Accounts;
  throttle: SignInThrottle;
  audit: Audit;
  logger: Logger;
}): PasswordCheck {
  const { accounts, throttle, audit } = options;
  return async (ctx, { login, password, client, knownDevice }) => {
    const known = await accounts.lookUp(login);
    const by = known === undefined ? { login } : { userId: known.id };
    const attempt = { ...by, address: requestInfo(ctx.req).address, knownDevice };
    await throttle.before(attempt);
    const account = await accounts.checkPassword(login, password).catch(async (error: unknown) => {
      await throttle.abandoned(attempt);
      throw error;
    });
    if (account === undefined) {
      await throttle.failed(attempt);
      const whose = known === undefined ? {} : { subject: known.id };
      await audit.record({
        ...{ action: 'sign_in.failed', origin: originOf(ctx), client, login },
        ...whose,
        actor: null,
      });
      return undefined;
    }
    // Not awaited: until it is done, the attempt counts as in progress.
    throttle.succeeded(attempt).catch((error: unknown) => {
      options.logger.warn({ err: error }, 'a sign-in could not be deducted from the count of attempts');
    });
    await audit.record({
      action: 'sign_in.succeeded',
      origin: originOf(ctx),
      client,
      subject: account.id,
    });
    return account;
  };
}
