import { errors, type JWTPayload, jwtVerify } from 'jose';
import type { IssuerKeys } from './issuer-keys.ts';
import { isTrustDomain, trustDomainOf } from './spiffe.ts';
import type { TrustedIssuer } from './trusted-issuer.ts';

/** How far clocks may differ, in seconds. */
export const SKEW = 60;
/** The longest that a token may live, in seconds. */
const MAX_SECONDS = 86_400;

/** The fault of a token of an issuer, as the end of a sentence that begins with it. */
export class TokenProblem extends Error {
  override name = 'TokenProblem';
  /** Whether anybody could have made the token. */
  readonly isForged: boolean;

  constructor(message: string, { isForged = false, ...options }: ErrorOptions & { isForged?: boolean } = {}) {
    super(message, options);
    this.isForged = isForged;
  }
}

/**
 * The claims of a token that a trusted issuer has signed, within its time. Its subject and audience are not checked. Throws a TokenProblem.
 */
export async function verifyWorkloadToken(
  token: string,
  issuer: TrustedIssuer,
  keys: IssuerKeys,
): Promise<JWTPayload & { exp: number }> {
  try {
    const isDomain = isTrustDomain(issuer.issuer);
    const { payload } = await jwtVerify(token, keys.of(issuer), {
      ...(isDomain ? {} : { issuer: issuer.issuer }),
      ...{ algorithms: [...issuer.algorithms], requiredClaims: ['exp'] },
      ...{ clockTolerance: SKEW, maxTokenAge: MAX_SECONDS },
    });
    if (isDomain && trustDomainOf(payload) !== issuer.issuer)
      throw new TokenProblem('is of another trust domain');
    const { exp = 0, iat = 0 } = payload;
    if (exp - iat > MAX_SECONDS) throw new TokenProblem(`lives longer than ${MAX_SECONDS} seconds`);
    return { ...payload, exp };
  } catch (error) {
    if (error instanceof TokenProblem) throw error;
    // The signature is verified before the claims.
    const isForged = !(
      error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed
    );
    throw new TokenProblem(problemOf(error), { isForged, cause: error });
  }
}

function problemOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'has expired';
  if (error instanceof errors.JWTClaimValidationFailed)
    return error.reason === 'missing' ? `has no ${error.claim}` : `has a wrong time in ${error.claim}`;
  if (error instanceof errors.JOSEAlgNotAllowed) return 'has an algorithm that is not allowed for its issuer';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'has a wrong signature';
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    return 'names no key of its issuer';
  if (error instanceof errors.JWTInvalid || error instanceof errors.JWSInvalid) return 'is no valid JWT';
  // Without an address: strangers could use it to explore networks.
  return 'cannot be verified: the keys of its issuer cannot be read';
}
