import { ServiceError } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { loginKey } from '@gatehouse/domain/folded-key';
import { requestInfo } from '@gatehouse/server/requests';
import type { Context } from 'koa';
import type { Account, Accounts } from '../accounts/account.ts';
import { type Audit, originOf } from '../audit/audit.ts';
import type { SignInThrottle } from '../limits/sign-in-throttle.ts';
import type { SecondFactor } from './second-factor.ts';
import type { SignInGenerations } from './sign-in-generations.ts';
import type { SignInMethod } from './sign-in-method.ts';
import type { WithFactors } from './verified.ts';

export type PasswordAttempt = {
  login: string;
  password: string;
  /** The application that the person signs in to. */
  client: string;
  /** Whether it is to connect the account with this id to another method. */
  isConnecting?(userId: string): boolean;
  /** Whether somebody has signed in to the account with this id in this browser before. */
  isKnownDevice(account: Account): boolean;
};

/**
 * The account with this username or verified email address and this password, and the second factors of which it needs one as
 * well; undefined when there is none.
 * Throws OtherMethodOnly for the right password of somebody who has to use another method, `rate_limited` after too many
 * failures, and `unavailable` when the accounts cannot be reached.
 */
export type PasswordCheck = (ctx: Context, attempt: PasswordAttempt) => Promise<WithFactors | undefined>;

/** The password is right, but the people of its account's domain sign in by this method only. */
export class OtherMethodOnly extends ServiceError {
  readonly method: SignInMethod;
  constructor(method: SignInMethod) {
    super('forbidden', 'People of your organization do not sign in with a password here.');
    this.method = method;
  }
}

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
  methods: readonly SignInMethod[];
  audit: Audit;
  logger: Logger;
}): PasswordCheck {
  const { accounts, throttle, generations, secondFactors, audit } = options;
  return async (ctx, { login: typed, password, client, isConnecting, isKnownDevice }) => {
    const login = loginKey(typed);
    const known = await accounts.lookUp(typed);
    const knownDevice = known !== undefined && isKnownDevice(known);
    // Asked for an unknown name as well, which must take as long.
    const generation = await generations.current(known?.id ?? login);
    const { address } = requestInfo(ctx.req);
    const attempt = await throttle.before({ login, account: known, address, knownDevice });
    const checked = await accounts.checkPassword(typed, password).catch(async (error: unknown) => {
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
    const { email, email_verified: isVerified } = account;
    const method = options.methods.find(({ isFor }) => isVerified && isFor?.(email ?? '') === 'only');
    if (method !== undefined && !isConnecting?.(account.id)) {
      const details = { required_method: method.name };
      const entry = { origin: originOf(ctx), client, subject: account.id, actor: null };
      await audit.record({ ...entry, action: 'sign_in.failed', details });
      throw new OtherMethodOnly(method);
    }
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
