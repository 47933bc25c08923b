import { emailKey } from '@gatehouse/domain/folded-key';
import type { IdentityProvider } from '../../core/foundation/identity-provider.ts';

/** The identity of a person who has signed in at a provider, as the provider states it. */
export type UpstreamIdentity = {
  issuer: string;
  /** Unique and stable at the issuer, as nothing else is (OpenID Connect Core 1.0 §5.7). */
  subject: string;
  email: string | undefined;
  /** Whether the provider has verified that the address is the person's. */
  isEmailVerified: boolean;
  name: string | undefined;
  /** A URL. */
  picture: string | undefined;
  /** The session there (OpenID Connect Back-Channel Logout 1.0 §2.1). */
  sid: string | undefined;
  /** Whether the person has proved two factors there, in a way that counts here. */
  hasSecondFactor: boolean;
};

/** In the place of the id of an organization: those for everybody, or for personal accounts (`consumers`). */
const PERSONAL = '9188040d-6c67-4c5b-b112-36a304b66dad';
const ORGANIZATION = /^\/([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\//i;

/** Whether it is an issuer of Microsoft by which all organizations sign in, of which each can give its people any address. */
export function isOfManyOrganizations(issuer: string): boolean {
  const { hostname, pathname } = new URL(issuer);
  if (!/(?:^|\.)microsoftonline\.\w+\.?$/.test(hostname)) return false;
  const [, organization = PERSONAL] = ORGANIZATION.exec(pathname) ?? [];
  return organization.toLowerCase() === PERSONAL;
}

/** Whether this is an issuer of the ID tokens that the provider sends as it is configured now. */
export function isIssuerOf({ issuer }: Pick<IdentityProvider, 'issuer'>, of: string): boolean {
  const [configured, linked] = [new URL(issuer), URL.parse(of)];
  if (linked === null) return false;
  if (configured.href === linked.href) return true;
  return (
    isOfManyOrganizations(issuer) && configured.host === linked.host && ORGANIZATION.test(linked.pathname)
  );
}

/** Whether this is an address of the provider's domains, if it has some. One that is not verified is of no domain. */
export function isOfDomain(
  { domains }: Pick<IdentityProvider, 'domains'>,
  { email = '', isEmailVerified }: Pick<UpstreamIdentity, 'email' | 'isEmailVerified'>,
): boolean {
  const key = emailKey(email);
  const domain = key.slice(key.lastIndexOf('@') + 1);
  return domains === undefined || (isEmailVerified && domains.includes(domain));
}

/** Whether the provider may be used with this address. */
export function mayUse(
  provider: Pick<IdentityProvider, 'domains' | 'signUp'>,
  identity: Pick<UpstreamIdentity, 'email' | 'isEmailVerified'>,
): boolean {
  return provider.signUp === 'domains' || isOfDomain(provider, identity);
}

/** The sessions at a provider that have ended: the one with this id, or all of the subject. */
export type UpstreamLogout = {
  issuer: string;
  subject: string | undefined;
  sid: string | undefined;
  /** Sessions that began later go on. */
  before?: Date;
};

/** Why nobody has signed in at a provider. */
export type UpstreamFailure = 'cancelled' | 'unavailable' | 'not_fresh' | 'refused';

/**
 * Nobody has signed in at the provider. The message is for admins, and says nothing of addresses; the detail is for the log. Neither
 * has a secret.
 */
export class UpstreamError extends Error {
  override name = 'UpstreamError';
  readonly failure: UpstreamFailure;
  readonly detail: string;
  constructor(failure: UpstreamFailure, message: string, detail = message) {
    super(message);
    this.failure = failure;
    this.detail = detail;
  }
}
