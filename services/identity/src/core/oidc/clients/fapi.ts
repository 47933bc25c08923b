import { type Client, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { FAPI2_ALGORITHMS } from '../../applications/security-profile.ts';
import type { SigningAlgorithm } from '../../tokens/signing-algorithms.ts';

/** The name of an application's security profile in the metadata of its client. */
export const SECURITY_PROFILE = 'security_profile';

/** How far in the future the iat and nbf of a JWT may lie, in seconds (FAPI 2.0 Security Profile §5.3.2.1, 13). */
const MAX_SKEW = 60;
/** The longest that an assertion lives, in seconds: for so long its jti must be remembered (RFC 7523 §3). */
const MAX_ASSERTION_SECONDS = 3600;
/** The longest that a code lives, in seconds (§5.3.2.1, 11). */
const MAX_CODE_SECONDS = 60;

/** Whether a client is held to the FAPI 2.0 Security Profile. */
export function isFapi2(client: Client | undefined): boolean {
  return client?.[SECURITY_PROFILE] === 'fapi2';
}

/**
 * Validates what oidc-provider does not of a client assertion (RFC 7523 §3). Of a client under FAPI 2.0, the audience must be
 * our issuer as one string (§5.3.2.1, 8), and the algorithm one of §5.4.1 also where its key names none.
 */
export function checkAssertion(
  ctx: KoaContextWithOIDC,
  claims: Record<string, unknown>,
  header: Record<string, unknown>,
  client: Client,
): void {
  const { exp } = claims;
  if (typeof exp !== 'number' || !(exp >= 0 && exp <= Date.now() / 1000 + MAX_ASSERTION_SECONDS)) {
    throw new errors.InvalidClientAuth('exp must be a time within the next hour');
  }
  for (const name of ['iat', 'nbf']) {
    if (isTooFarAhead(claims[name])) throw new errors.InvalidClientAuth(`${name} is too far in the future`);
  }
  if (!isFapi2(client)) return;
  if (claims.aud !== ctx.oidc.issuer) {
    throw new errors.InvalidClientAuth('aud must be the issuer identifier, as one string');
  }
  if (!FAPI2_ALGORITHMS.includes(String(header.alg))) {
    throw new errors.InvalidClientAuth(`alg must be one of ${FAPI2_ALGORITHMS.join(', ')}`);
  }
}

/** Whether a DPoP proof is from the future. It is not verified yet: oidc-provider does that, and accepts five minutes. */
export function isFromTheFuture(proof: string): boolean {
  const [, payload = ''] = proof.split('.');
  try {
    return isTooFarAhead(
      (JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as { iat?: unknown }).iat,
    );
  } catch {
    return false;
  }
}

/** The lifetime of a client's codes, in seconds. */
export function codeLifetime(client: Client, seconds: number): number {
  return isFapi2(client) ? Math.min(seconds, MAX_CODE_SECONDS) : seconds;
}

/** The algorithm of a client's access tokens: RS256 is not for FAPI 2.0 (§5.4.1). */
export function accessTokenAlgorithm(client: Client, algorithm: SigningAlgorithm): SigningAlgorithm {
  return isFapi2(client) ? 'ES256' : algorithm;
}

function isTooFarAhead(time: unknown): boolean {
  return typeof time === 'number' && time > Date.now() / 1000 + MAX_SKEW;
}
