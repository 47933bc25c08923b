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
  /** `exp`, in seconds since the epoch. */
  expiresAt: number;
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
