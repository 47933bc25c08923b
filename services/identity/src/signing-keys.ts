import { newId } from '@gatehouse/kit/ids';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import type { Sealer } from './sealing.ts';

/** ES256 signs access tokens; RS256 is what OpenID Connect Discovery §3 wants of every provider. */
export const SIGNING_ALGORITHMS = ['ES256', 'RS256'] as const;
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number];

/** A key as stored: the private part sealed under the master key. */
export type StoredKey = {
  kid: string;
  algorithm: SigningAlgorithm;
  state: 'current';
  sealed: string;
  createdAt: Date;
};

export type SigningKeyStore = {
  all(): Promise<StoredKey[]>;
  /** Inserts unless the algorithm has a current key already. */
  insertIfNone(key: StoredKey): Promise<void>;
};

/**
 * The private signing keys as a JWK set; makes what is missing. Several replicas may start at once: of the
 * keys they make, the store keeps one for each algorithm, and all load that one. Throws when the stored keys
 * were sealed under another master key.
 */
export async function loadSigningKeys(store: SigningKeyStore, sealer: Sealer): Promise<{ keys: JWK[] }> {
  const existing = await store.all();
  const missing = SIGNING_ALGORITHMS.filter((algorithm) =>
    existing.every((key) => key.algorithm !== algorithm),
  );
  for (const algorithm of missing) await store.insertIfNone(await makeKey(algorithm, sealer));
  const stored = missing.length === 0 ? existing : await store.all();
  return { keys: stored.map((key) => openKey(key, sealer)) };
}

async function makeKey(algorithm: SigningAlgorithm, sealer: Sealer): Promise<StoredKey> {
  const kid = newId('key');
  const { privateKey } = await generateKeyPair(algorithm, { modulusLength: 2048, extractable: true });
  const jwk = { ...(await exportJWK(privateKey)), kid, alg: algorithm, use: 'sig' };
  return {
    kid,
    algorithm,
    state: 'current',
    sealed: sealer.seal(JSON.stringify(jwk), kid),
    createdAt: new Date(),
  };
}

function openKey({ kid, sealed }: StoredKey, sealer: Sealer): JWK {
  try {
    return JSON.parse(sealer.open(sealed, kid)) as JWK;
  } catch (error) {
    throw new Error(
      'The signing keys in the database were sealed under another master key: use that one, or another database.',
      { cause: error },
    );
  }
}
