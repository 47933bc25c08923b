import { ServiceError } from '@gatehouse/kit/errors';
import type { Role } from './scopes.ts';

/** Who makes a request, as its verified credential says. */
export type Caller = {
  /** `sub`: a user id, or the client_id where no person is involved. */
  subject: string;
  clientId: string;
  scopes: ReadonlySet<string>;
  /**
   * The person whose role and ownership the request stands under; undefined for a machine of its own
   * standing, which an admin has marked trusted.
   */
  person: { id: string; role: Role } | undefined;
  /** `exp`, in seconds since the epoch; of an API key without an end, until when it need not be resolved anew. */
  expiresAt: number;
  /** `iat`, in seconds since the epoch; of an API key, when it was resolved. */
  issuedAt: number;
  /** `jti`; undefined for an API key. */
  tokenId: string | undefined;
  /** `gid`, the grant of the person to the client; undefined where no person granted anything. */
  grantId: string | undefined;
  /** The id of the API key; undefined for a token. */
  keyId: string | undefined;
  /** `cnf.jkt` (RFC 9449 §6.1): the thumbprint of the key that the token is bound to. */
  keyThumbprint: string | undefined;
  /** The API profiles that the application has pinned, such as `{v1_users: 'E'}`. */
  profiles: Readonly<Record<string, string>>;
  /** The epochs of the client and of the person when the credential was made; a later revocation has a higher one. */
  epoch: { client: number; subject: number };
  /** `auth_time`, in seconds since the epoch, where the token carries it. */
  authTime: number | undefined;
};

/** Throws `forbidden` (RFC 6750 §3.1, insufficient_scope) unless the caller holds one of the scopes. */
export function requireScope(caller: Caller, anyOf: readonly string[]): void {
  if (anyOf.some((scope) => caller.scopes.has(scope))) return;
  throw new ServiceError('forbidden', `This needs the scope ${anyOf.join(' or ')}.`, {
    headers: { 'www-authenticate': challenge('insufficient_scope', anyOf) },
  });
}

/** An `unauthenticated` error: no credential (no error code, RFC 6750 §3.1) or one that does not hold. */
export function unauthenticated(message: string, error?: 'invalid_token' | 'invalid_request'): ServiceError {
  return new ServiceError('unauthenticated', message, { headers: { 'www-authenticate': challenge(error) } });
}

function challenge(error?: string, scopes: readonly string[] = []): string {
  const parts = ['realm="gatehouse"'];
  if (error !== undefined) parts.push(`error="${error}"`);
  if (scopes.length > 0) parts.push(`scope="${scopes.join(' ')}"`);
  return `Bearer ${parts.join(', ')}`;
}
