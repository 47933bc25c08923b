import type { Logger } from '@gatehouse/kit/logger';
import { requestInfo } from '@gatehouse/kit/requests';
import type { Context } from 'koa';
import type { Account, Accounts } from '../accounts/account.ts';
import { type Audit, originOf } from '../audit/audit.ts';
import type { SignInGuard } from './guard.ts';

export type PasswordAttempt = {
  login: string;
  password: string;
  /** The application that somebody signs in to. */
  client: string;
  /** Whether this browser has signed in to this account before. */
  knownDevice: boolean;
};

/**
 * The account that a username, or a verified address, and a password belong to; undefined when they belong to none.
 * Throws `rate_limited` after too many failures, and `unavailable` when the accounts cannot be reached.
 */
export type PasswordCheck = (ctx: Context, attempt: PasswordAttempt) => Promise<Account | undefined>;

/** Every way to give a password goes through here: the brakes are on, and it is written down. */
export function createPasswordCheck(options: {
  accounts: Accounts;
  guard: SignInGuard;
  audit: Audit;
  logger: Logger;
}): PasswordCheck {
  const { accounts, guard, audit } = options;
  return async (ctx, { login, password, client, knownDevice }) => {
    const attempt = { login, address: requestInfo(ctx.req).address, knownDevice };
    await guard.before(attempt);
    const account = await accounts.checkPassword(login, password).catch(async (error: unknown) => {
      await guard.abandoned(attempt);
      throw error;
    });
    if (account === undefined) {
      await guard.failed(attempt);
      await audit.record({ action: 'sign_in.failed', origin: originOf(ctx), client, login });
      return undefined;
    }
    // Not awaited: until it is done, the attempt counts as one that is under way.
    guard.succeeded(attempt).catch((error: unknown) => {
      options.logger.warn({ err: error }, 'a sign-in could not be taken off the count of attempts');
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
