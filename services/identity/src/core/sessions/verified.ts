import type { Account } from '../accounts/account.ts';
import type { SecondFactor } from './second-factor.ts';

/**
 * Somebody who has proved who they are. `generation` is that of the account's sign-ins when they began to, and `amr` names how
 * (RFC 8176).
 */
export type Verified = {
  account: Account;
  generation: string | undefined;
  amr: readonly string[];
  /** The id of the provider where the first factor was proved. */
  provider?: string | undefined;
  /** The id of the passkey that proved it. */
  passkey?: string;
  /** Whether it does not count as a fresh sign-in (see Device in core/oidc/epochs/sign-in-epochs.ts). */
  isUnconfirmed?: boolean;
  /** Whether the second factor was not asked for, as the browser is remembered. */
  isRemembered?: boolean;
  /** Whether the password that proved it is known from a breach. */
  isBreached?: boolean | undefined;
  /** When the sign-in began that this makes stronger, in seconds since the epoch. */
  since?: number | undefined;
};

/** The account that has signed in with a first factor, and the second factors of which one is needed as well. */
export type WithFactors = Verified & { factors: readonly SecondFactor[] };
