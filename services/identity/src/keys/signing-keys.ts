import { newId } from '@gatehouse/kit/ids';
import { createSealer, deriveKey, type Sealer } from '@gatehouse/kit/sealing';
import { exportJWK, generateKeyPair, type JWK } from 'jose';

/** ES256 signs access tokens; RS256 is what OpenID Connect Discovery §3 wants of every provider. */
export const SIGNING_ALGORITHMS = ['ES256', 'RS256'] as const;
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number];

/** Seals the private keys for storage under the deployment's master key. */
export function createSigningKeySealer(masterKey: Buffer): Sealer {
  return createSealer(deriveKey(masterKey, 'signing keys'));
}

/**
 * `current` signs. `next` is published already and signs after the next rotation, when every verifier has seen it.
 * `previous` does not sign any more, and is published until what it has signed has expired.
 */
export type KeyState = 'current' | 'next' | 'previous';

/** A key as stored: the private part sealed under the master key. */
export type StoredKey = {
  kid: string;
  state: KeyState;
  sealed: string;
  createdAt: Date;
  /** When it became current; null before. */
  activatedAt: Date | null;
  /** When it became previous; null before. */
  retiredAt: Date | null;
};

/**
 * The keys of one algorithm: one current, one next, any number of previous ones. They are stored as one document,
 * so that whoever reads sees them whole at any moment, and a crash leaves nothing halfway.
 */
export type KeyRing = {
  algorithm: SigningAlgorithm;
  /** Raised by each change. */
  version: number;
  keys: StoredKey[];
  /** Compromised keys, for as long as somebody may hold a token that they have signed. */
  dropped: DroppedKey[];
};
export type DroppedKey = { kid: string; droppedAt: Date };

export type SigningKeyStore = {
  all(): Promise<KeyRing[]>;
  /** The versions alone: cheap to ask for every second. */
  versions(): Promise<Pick<KeyRing, 'algorithm' | 'version'>[]>;
  /** Inserts unless the algorithm has a ring already. */
  insertIfNone(ring: KeyRing): Promise<void>;
  /** Writes the ring if the stored one has the version before its own; false when another was faster. */
  replace(ring: KeyRing): Promise<boolean>;
};

export type SigningKeySet = {
  /**
   * Private keys: of each algorithm the current one, then the next, then the previous ones. The order matters:
   * oidc-provider signs with the first that fits the algorithm (its keystore's selectForSign, asked without a kid).
   */
  keys: JWK[];
  currentKid: Record<SigningAlgorithm, string>;
  /** Another text whenever the set is another. */
  version: string;
  rings: readonly KeyRing[];
};

/**
 * The signing keys; makes what is missing. Several replicas may start at once: of the rings they make, the store
 * keeps one for each algorithm, and all load that one. Throws when the stored keys were sealed under another
 * master key.
 */
export async function loadSigningKeys(store: SigningKeyStore, sealer: Sealer): Promise<SigningKeySet> {
  const existing = await store.all();
  const missing = SIGNING_ALGORITHMS.filter((algorithm) =>
    existing.every((ring) => ring.algorithm !== algorithm),
  );
  await Promise.all(missing.map(async (algorithm) => store.insertIfNone(await newRing(algorithm, sealer))));
  const stored = missing.length === 0 ? existing : await store.all();
  const rings = SIGNING_ALGORITHMS.map((algorithm) => ringOf(stored, algorithm));
  const [es256, rs256] = rings.map((ring) => keyIn(ring, 'current').kid) as [string, string];
  return {
    keys: rings.flatMap((ring) => openRing(ring, sealer)),
    currentKid: { ES256: es256, RS256: rs256 },
    version: versionOf(rings),
    rings,
  };
}

/** The version of a set of rings, whatever order they come in. */
export function versionOf(rings: readonly Pick<KeyRing, 'algorithm' | 'version'>[]): string {
  return rings
    .map(({ algorithm, version }) => `${algorithm}:${version}`)
    .sort()
    .join();
}

/** The ring's current or next key: it always has one of each. */
export function keyIn(ring: KeyRing, state: 'current' | 'next'): StoredKey {
  const key = ring.keys.find((it) => it.state === state);
  if (key === undefined) throw new Error(`There is no ${state} ${ring.algorithm} key in the database.`);
  return key;
}

/** A fresh key in the state `next`. */
export async function makeKey(algorithm: SigningAlgorithm, sealer: Sealer): Promise<StoredKey> {
  const kid = newId('key');
  const { privateKey } = await generateKeyPair(algorithm, { modulusLength: 2048, extractable: true });
  const jwk = { ...(await exportJWK(privateKey)), kid, alg: algorithm, use: 'sig' };
  return {
    kid,
    state: 'next',
    sealed: sealer.seal(JSON.stringify(jwk), kid),
    createdAt: new Date(),
    activatedAt: null,
    retiredAt: null,
  };
}

/** The private keys of a ring, the current one first. Throws when another master key sealed one of them. */
export function openRing(ring: KeyRing, sealer: Sealer): JWK[] {
  const previous = ring.keys.filter(({ state }) => state === 'previous');
  return [keyIn(ring, 'current'), keyIn(ring, 'next'), ...previous].map((key) => openKey(key, sealer));
}

function ringOf(rings: readonly KeyRing[], algorithm: SigningAlgorithm): KeyRing {
  const ring = rings.find((it) => it.algorithm === algorithm);
  if (ring === undefined) throw new Error(`The ${algorithm} keys have just been removed from the database.`);
  return ring;
}

async function newRing(algorithm: SigningAlgorithm, sealer: Sealer): Promise<KeyRing> {
  const [first, next] = await Promise.all([makeKey(algorithm, sealer), makeKey(algorithm, sealer)]);
  const current: StoredKey = { ...first, state: 'current', activatedAt: first.createdAt };
  return { algorithm, version: 1, keys: [current, next], dropped: [] };
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
