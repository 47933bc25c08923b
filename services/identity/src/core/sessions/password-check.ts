import type { Logger } from '@gatehouse/core/logger';
import { loginKey } from '@gatehouse/domain/folded-key';
import { requestInfo } from '@gatehouse/server/requests';
import type { Context } from 'koa';
import type { Account, Accounts } from '../accounts/account.ts';
import { type Audit, originOf } from '../audit/audit.ts';
import type { SignInThrottle } from '../limits/sign-in-throttle.ts';
import type { SecondFactor } from './second-factor.ts';
import type { SignInGenerations } from './sign-in-generations.ts';

export type PasswordAttempt = {
  login: string;
  password: string;
  /** The application that the person signs in to. */
  client: string;
  /** Whether somebody has signed in to the account with this id in this browser before. */
  isKnownDevice(userId: string): boolean;
};

/**
 * Somebody who has proved who they are. `generation` is that of the account's sign-ins when they began to, and `amr` names how
 * (RFC 8176).
 */
export type Verified = {
  account: Account;
  generation: string | undefined;
  amr: readonly string[];
  /** Whether it does not count as a fresh sign-in (see Device in core/oidc/epochs/sign-in-epochs.ts). */
  isUnconfirmed?: boolean;
  /** Whether the second factor was not asked for, as the browser is remembered. */
  isRemembered?: boolean;
  /** When the sign-in began that this makes stronger, in seconds since the epoch. */
  since?: number | undefined;
};

/** Who has signed in with a first factor, and the second factors of which one is needed as well. */
export type WithFactors = Verified & { factors: readonly SecondFactor[] };

/**
 * The account with this username or verified email address and this password, and the second factors of which it needs one as
 * well; undefined when there is none.
 * Throws `rate_limited` after too many failures, and `unavailable` when the accounts cannot be reached.
 */
export type PasswordCheck = (ctx: Context, attempt: PasswordAttempt) => Promise<WithFactors | undefined>;

/** The `amr` of a sign-in by password (RFC 8176 §2). */
export const PASSWORD = ['pwd'];

/**
 * Checks a password, throttled and audited. A sign-in that needs a second factor is in the audit log once that is right. Every
 * way to sign in with a password goes through here.
 */
export function createPasswordCheck(options: {
  accounts: Accounts;
  throttle: SignInThrottle;
  generations: Pick<SignInGenerations, 'current'>;
  secondFactors: { of(userId: string): Promise<SecondFactor[]> };
  audit: Audit;
  logger: Logger;
}): PasswordCheck {
  const { accounts, throttle, generations, secondFactors, audit } = options;
  return async (ctx, { login: typed, password, client, isKnownDevice }) => {
    const login = loginKey(typed);
    const known = await accounts.lookUp(login);
    const knownDevice = known !== undefined && isKnownDevice(known.id);
    // Asked for an unknown name as well, which must take as long.
    const generation = await generations.current(known?.id ?? login);
    const { address } = requestInfo(ctx.req);
    const attempt = await throttle.before({ login, account: known, address, knownDevice });
    const checked = await accounts.checkPassword(login, password).catch(async (error: unknown) => {
      await throttle.abandoned(attempt);
      throw error;
    });
    // Checked all the same: what is closed must take as long as what is wrong.
    const account = attempt.isClosed ? undefined : checked;
    if (account === undefined) {
      await throttle.failed(attempt);
      const whose = known === undefined ? {} : { subject: known.id };
      await audit.record({
        action: 'sign_in.failed',
        origin: originOf(ctx),
        client,
        login,
        ...whose,
        actor: null,
      });
      return undefined;
    }
    // Not awaited: until it is done, the attempt counts as in progress.
    throttle.succeeded(attempt).catch((error: unknown) => {
      options.logger.warn({ err: error }, 'a sign-in could not be deducted from the count of attempts');
    });
    const factors = await secondFactors.of(account.id);
    if (factors.length === 0) {
      await audit.record({
        action: 'sign_in.succeeded',
        origin: originOf(ctx),
        client,
        subject: account.id,
      });
    }
    return { account, generation, amr: PASSWORD, factors };
  };
}
