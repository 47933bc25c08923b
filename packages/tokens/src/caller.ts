import { ServiceError } from '@gatehouse/core/errors';
import { MANAGE_APPS, type Role } from './scopes.ts';

/** The maker of a request, according to its verified credential. */
export type Caller = {
  /** `sub`: a user id, or the client_id where no person is involved. */
  subject: string;
  clientId: string;
  scopes: ReadonlySet<string>;
  /** Of an API key for a resource of others, the identifier of that. */
  resource?: string;
  /**
   * The person whose role and ownership limit the request; undefined for a machine that an admin has marked as
   * trusted.
   */
  person: { id: string; role: Role } | undefined;
  /** `given_by`: the giver of an application's secret or key, unless the owner made it. The owner, if they took it over. */
  givenBy?: string;
  /** `exp`, in seconds since the epoch; for an API key that does not expire, when it must be resolved again. */
  expiresAt: number;
  /** `iat`, in seconds since the epoch; for an API key, when it was resolved. */
  issuedAt: number;
  /** `jti`; undefined for an API key. */
  tokenId: string | undefined;
  /** `gid`, the person's grant to the client. Of a machine, the trusted issuer by whose token it authenticated. Else undefined. */
  grantId: string | undefined;
  /** The id of the API key, also for a token that was issued for one (`api_key`). */
  keyId: string | undefined;
  /** The id of the client secret or public keys with which an application got a token for itself. */
  credentialId?: string;
  /** `act.sub` (RFC 8693 §4.1): the service of Gatehouse that reads on the caller's behalf, while they are away. */
  actor: string | undefined;
  /** `act` (RFC 8693 §4.1): the applications that act for the person, or the admin, the latest first. Absent where the person acts. */
  actors?: readonly string[];
  /** `cnf.jkt` (RFC 9449 §6.1): the thumbprint of the key to which the token is bound. */
  keyThumbprint: string | undefined;
  /** The API profiles pinned by the application, such as `{v1_users: 'E'}`. */
  profiles: Readonly<Record<string, string>>;
  /** The epochs of the client and of the person when the credential was made; a later revocation has a higher one. */
  epoch: { client: number; subject: number };
  /** `auth_time`, in seconds since the epoch, if the token carries it. */
  authTime: number | undefined;
  /** `acr` (RFC 9470 §6.1), if the token carries it. */
  acr?: string;
  /** `userinfo_claims`: what the request for this token asked of /userinfo (OpenID Connect Core §5.5), if anything. */
  userInfoClaims?: readonly string[];
};

/**
 * The id of the person or application that a request is charged to, in limits and in queues: the member who gave the credential,
 * so that the owner of the application is not held up.
 */
export function chargedTo({
  person,
  clientId,
  givenBy,
}: {
  person: { id: string } | undefined;
  clientId: string;
  givenBy?: string;
}): string {
  return person === undefined ? clientId : (givenBy ?? person.id);
}

/**
 * Whether a person uses Gatehouse itself, without an application between: the token of a login, or of our own pages. No
 * other credential can have the scope manage:apps.
 */
export function isFirstParty({ person, subject, scopes }: Caller): boolean {
  return person?.id === subject && scopes.has(MANAGE_APPS);
}

/**
 * Throws `forbidden` where an application, or an admin, acts for the person: what it made for them would outlive the token that it was
 * given (RFC 8693).
 */
export function refuseActors({ actors }: Pick<Caller, 'actors'>): void {
  if (actors === undefined) return;
  const message =
    'This is for the person, without an application that acts for them: it would outlive its token.';
  throw new ServiceError('forbidden', message);
}

/** Throws `forbidden` (RFC 6750 §3.1, insufficient_scope) unless the caller has one of the scopes. */
export function requireScope(
  caller: Caller,
  anyOf: readonly string[],
  message = `This needs the scope ${anyOf.join(' or ')}.`,
): void {
  if (anyOf.some((scope) => caller.scopes.has(scope))) return;
  throw new ServiceError('forbidden', message, {
    headers: { 'www-authenticate': challenge('insufficient_scope', anyOf) },
  });
}

/** An `unauthenticated` error; without a credential the challenge has no error code (RFC 6750 §3.1). */
export function unauthenticated(message: string, error?: 'invalid_token' | 'invalid_request'): ServiceError {
  return new ServiceError('unauthenticated', message, { headers: { 'www-authenticate': challenge(error) } });
}

function challenge(error?: string, scopes: readonly string[] = []): string {
  const parts = ['realm="gatehouse"'];
  if (error !== undefined) parts.push(`error="${error}"`);
  if (scopes.length > 0) parts.push(`scope="${scopes.join(' ')}"`);
  return `Bearer ${parts.join(', ')}`;
}
