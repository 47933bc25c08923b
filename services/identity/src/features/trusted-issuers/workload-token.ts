import { KeyObject, verify, type webcrypto } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify, UnsecuredJWT } from 'jose';
import type { FindKey, IssuerKeys } from './issuer-keys.ts';
import { isTrustDomain, trustDomainOf } from './spiffe.ts';
import type { WorkloadIssuer } from './trusted-issuer.ts';

/** How far clocks may differ, in seconds. */
export const SKEW = 60;
/** The longest that a token may live, in seconds. */
const MAX_SECONDS = 86_400;
/** The types of a JWT-SVID (SPIFFE JWT-SVID §2.3). */
const SVID_TYPES: readonly unknown[] = [undefined, 'JWT', 'JOSE'];
/** The types of JWTs that an issuer signs for something else (RFC 8725 §3.11). */
const OTHER_TYPES = /^(?:application\/)?(?:at|logout|secevent|oauth-id-jag)\+jwt$/i;
/** The hashes of RSASSA-PKCS1-v1_5, the algorithm of nearly all issuers (RFC 7518 §3.3). */
const RSA_HASHES: Record<string, string | undefined> = { RS256: 'sha256', RS384: 'sha384', RS512: 'sha512' };
/** The header `{"alg":"none"}`: of a JWT without a signature, jose checks the claims alone. */
const UNSIGNED = 'eyJhbGciOiJub25lIn0';

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

/** The claims of a token by which a trusted issuer identifies a workload, as those of verifyIssuedToken. Throws a TokenProblem. */
export async function verifyWorkloadToken(
  token: string,
  issuer: WorkloadIssuer,
  keys: IssuerKeys,
): Promise<JWTPayload & { exp: number }> {
  const claims = await verifyIssuedToken(token, issuer, keys);
  const typ: unknown = unverifiedHeader(token)?.typ;
  const isOther = isTrustDomain(issuer.issuer)
    ? !SVID_TYPES.includes(typ)
    : OTHER_TYPES.test(String(typ ?? ''));
  if (isOther) throw new TokenProblem('has the typ of tokens for something else');
  return claims;
}

/**
 * The claims of a token that a trusted issuer has signed, within its time. Its type, subject and audience are not checked. Throws a TokenProblem.
 */
export async function verifyIssuedToken(
  token: string,
  issuer: WorkloadIssuer,
  keys: IssuerKeys,
): Promise<JWTPayload & { exp: number }> {
  try {
    const key = keys.of(issuer);
    const algorithms = [...issuer.algorithms];
    const isDomain = isTrustDomain(issuer.issuer);
    const claims = {
      ...(isDomain ? {} : { issuer: issuer.issuer }),
      ...{ requiredClaims: ['exp'], clockTolerance: SKEW, maxTokenAge: MAX_SECONDS },
    };
    const signed = await verifyRsa(token, algorithms, key);
    const { payload } =
      signed === undefined
        ? await jwtVerify(token, key, { ...claims, algorithms })
        : UnsecuredJWT.decode(`${UNSIGNED}.${signed}.`, claims);
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

/** The claims of a JWT that is not verified; undefined if it is none. */
export const unverifiedClaims = (token: string) => parsed(decodeJwt, token);
/** The header of a JWT that is not verified; undefined if it is none. */
export const unverifiedHeader = (token: string) => parsed(decodeProtectedHeader, token);

function parsed<T>(parse: (token: string) => T, token: string): T | undefined {
  try {
    return parse(token);
  } catch {
    return undefined;
  }
}

/**
 * The payload of a JWS that is signed with RSA. This takes less processor time than handing it to another thread, as jose does.
 * Undefined for whatever jose is to verify or refuse: other algorithms, keys or headers, and wrong signatures.
 */
async function verifyRsa(
  token: string,
  algorithms: readonly string[],
  findKey: FindKey,
): Promise<string | undefined> {
  const [, signed = '', payload = '', signature = ''] = /^([\w-]+\.([\w-]+))\.([\w-]+)$/.exec(token) ?? [];
  if (signed === '') return undefined;
  const { alg = '', crit, ...header } = unverifiedHeader(token) ?? {};
  const hash = RSA_HASHES[alg];
  if (hash === undefined || crit !== undefined || !algorithms.includes(alg)) return undefined;
  const key = await findKey({ ...header, alg }, { payload, signature });
  const { modulusLength, publicExponent } = key.algorithm as webcrypto.RsaHashedKeyAlgorithm;
  // Other threads go on with larger ones, and RFC 7518 §3.3 forbids smaller ones.
  if (modulusLength < 2048 || modulusLength > 4096 || publicExponent.length > 3) return undefined;
  const bytes = Buffer.from(signature, 'base64url');
  return verify(hash, Buffer.from(signed), KeyObject.from(key), bytes) ? payload : undefined;
}

function problemOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'has expired';
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.reason === 'missing') return `has no ${error.claim}`;
    return error.claim === 'iss' ? 'is of another issuer' : `has a wrong time in ${error.claim}`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return 'has an algorithm that is not allowed for its issuer';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'has a wrong signature';
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    return 'names no key of its issuer';
  if (error instanceof errors.JWTInvalid || error instanceof errors.JWSInvalid) return 'is no valid JWT';
  // Without an address: strangers could use it to explore networks.
  return 'cannot be verified: the keys of its issuer cannot be read';
}
