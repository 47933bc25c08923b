import { acrOf, MULTI_FACTOR } from '@gatehouse/tokens/acr';
import { isAsStrong } from '@gatehouse/verify/sign-in';
import type { Account } from '../accounts/account.ts';
import { REQUIRE_SECOND_FACTOR } from '../oidc/clients/client-metadata.ts';
import type { StampedSession } from '../oidc/epochs/sign-in-epochs.ts';
import type { RequiredSecondFactor } from '../oidc/strength.ts';
import type { StrongestFactor } from './strongest-factor.ts';

export type SecondFactorRequirement = RequiredSecondFactor & {
  /** Whether somebody in this session has yet to use the second factor of an account that needs one and has one. */
  isOwed(account: Account, session: StampedSession): Promise<boolean>;
  /**
   * Whether an account that needs one, and of which none was used, can go on without: it has none, and some days left.
   */
  isPutOff(userId: string): Promise<boolean>;
};

const DAY_MS = 86_400_000;

/** Nothing is read or stored of accounts that need none. */
export function createSecondFactorRequirement(options: {
  /** Which accounts need one, whatever they are used for. */
  requiredOf: 'none' | 'admin' | 'all';
  graceDays: number;
  /** When the account was first asked to set one up, which is now if it was not. Durable. */
  gracePeriods: { begin(userId: string): Promise<Date> };
  strongestFactor: StrongestFactor;
}): SecondFactorRequirement {
  const { requiredOf, graceDays, gracePeriods, strongestFactor } = options;
  const hasOne = async (userId: string) => isAsStrong(await strongestFactor(userId), MULTI_FACTOR);

  const appliesTo: SecondFactorRequirement['appliesTo'] = ({ role }, client = {}) =>
    requiredOf === 'all' ||
    (requiredOf === 'admin' && role === 'admin') ||
    (client as { [REQUIRE_SECOND_FACTOR]?: boolean })[REQUIRE_SECOND_FACTOR] === true;

  const isWithout: SecondFactorRequirement['isWithout'] = ({ amr, device }) =>
    !isAsStrong(acrOf(amr), MULTI_FACTOR) && device?.isRemembered !== true;

  const graceEnds = async (userId: string) =>
    new Date(graceDays === 0 ? 0 : (await gracePeriods.begin(userId)).getTime() + graceDays * DAY_MS);

  return {
    appliesTo,
    isWithout,
    graceEnds,
    isOwed: async (account, session) =>
      appliesTo(account) && isWithout(session) && (await hasOne(account.id)),
    isPutOff: async (userId) => !(await hasOne(userId)) && (await graceEnds(userId)).getTime() > Date.now(),
  };
}
