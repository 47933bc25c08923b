import { errors, type JWTPayload } from 'jose';
import type { Revocable } from './revocations.ts';

/** The claims of an access token that decide who calls, and what revokes it. */
export type TokenClaims = Revocable & {
  subject: string;
  scopes: string[];
  expiresAt: number;
  tokenId: string;
  /** `act.sub` (RFC 8693 §4.1): the service that acts on the subject's behalf. */
  actor: string | undefined;
  /** `cnf.jkt` (RFC 9449 §6.1): the thumbprint of the key to which the token is bound. */
  keyThumbprint: string | undefined;
  /** `auth_time`, in seconds since the epoch, if the token carries it. */
  authTime: number | undefined;
  /** `acr` (RFC 9470 §6.1), if the token carries it. */
  acr?: string;
};

/** Reads the claims of a token that was verified. Throws JWTInvalid for values of the wrong type: such ids would never match a revocation. */
export function readClaims(claims: JWTPayload): TokenClaims {
  const { scope, acr, auth_time: authTime } = claims;
  const subject = text(claims, 'sub');
  const clientId = text(claims, 'client_id');
  const owner = claims.owner === undefined ? undefined : text(claims, 'owner');
  const personId = subject === clientId ? owner : subject;
  return {
    subject,
    clientId,
    scopes: typeof scope === 'string' ? parseScope(scope) : [],
    person: personId === undefined ? undefined : { id: personId },
    // jose has verified that these are numbers.
    expiresAt: claims.exp as number,
    issuedAt: claims.iat as number,
    tokenId: text(claims, 'jti'),
    grantId: claims.gid === undefined ? undefined : text(claims, 'gid'),
    actor: claims.act === undefined ? undefined : text(claims.act, 'sub'),
    // A token that is bound to a key in an unknown way must not pass for an unbound one.
    keyThumbprint: claims.cnf === undefined ? undefined : text(claims.cnf, 'jkt'),
    epoch: readEpoch(claims.epoch),
    authTime: typeof authTime === 'number' ? authTime : undefined,
    ...(typeof acr === 'string' ? { acr } : {}),
  };
}

/** The distinct names in a space-separated scope (RFC 6749 §3.3), in their order. */
export function parseScope(scope: string): string[] {
  return [...new Set(scope.split(' ').filter((name) => name !== ''))];
}

function text(claims: unknown, name: string): string {
  const { [name]: value } = Object(claims) as Record<string, unknown>;
  if (typeof value !== 'string') throw new errors.JWTInvalid(`${name} must be a string`);
  return value;
}

function readEpoch(claim: unknown): Revocable['epoch'] {
  const { client = 0, subject = 0 } = Object(claim ?? {}) as Record<string, unknown>;
  if (typeof client !== 'number' || typeof subject !== 'number') {
    throw new errors.JWTInvalid('epochs must be numbers');
  }
  return { client, subject };
}
