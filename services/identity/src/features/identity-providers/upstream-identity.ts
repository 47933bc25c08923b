import type { IdentityProvider } from '../../core/foundation/identity-provider.ts';

/** Who has signed in at a provider, as it says. */
export type UpstreamIdentity = {
  issuer: string;
  /** Unique and stable at the issuer, as nothing else is (OpenID Connect Core 1.0 §5.7). */
  subject: string;
  email: string | undefined;
  /** Whether the provider has verified that the address is the person's. */
  isEmailVerified: boolean;
  name: string | undefined;
  /** Whether the person has proved two factors there, in a way that counts here. */
  hasSecondFactor: boolean;
};

/** Whether the provider may be used with this address. One that is not verified is of no domain. */
export function isOfDomain(
  { domains }: Pick<IdentityProvider, 'domains'>,
  { email = '', isEmailVerified }: Pick<UpstreamIdentity, 'email' | 'isEmailVerified'>,
): boolean {
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase();
  return domains === undefined || (isEmailVerified && domains.includes(domain));
}

/** Why nobody has signed in at a provider. */
export type UpstreamFailure = 'cancelled' | 'unavailable' | 'not_fresh' | 'refused';

/** Nobody has signed in at the provider; the message is for the log, and has no secret. */
export class UpstreamError extends Error {
  override name = 'UpstreamError';
  readonly failure: UpstreamFailure;
  constructor(failure: UpstreamFailure, message: string) {
    super(message);
    this.failure = failure;
  }
}
