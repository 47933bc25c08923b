import type { JWK } from 'jose';

/** ES256 signs access tokens; OpenID Connect Discovery §3 requires RS256 of every provider. */
export const SIGNING_ALGORITHMS = ['ES256', 'RS256'] as const;
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number];

/**
 * Private keys: of each algorithm the current one, the next, then the previous ones. The order matters: oidc-provider
 * signs with the first that fits the algorithm (selectForSign of its keystore, called without a kid).
 */
export type PrivateKeys = { keys: JWK[]; currentKid: Record<SigningAlgorithm, string> };
