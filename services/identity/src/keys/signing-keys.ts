import { newId } from '@gatehouse/core/ids';
import { createSealer, deriveKeys, type KeyList, type Sealer } from '@gatehouse/core/sealing';
import { date, type EntityOf, listOf, number, oneOf, text } from '@gatehouse/domain/fields';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import {
  type PrivateKeys,
  SIGNING_ALGORITHMS,
  type SigningAlgorithm,
} from '../core/tokens/signing-algorithms.ts';

/** Seals the private keys for storage under the deployment's master keys. */
export function createSigningKeySealer(masterKeys: KeyList): Sealer {
  return createSealer(deriveKeys(masterKeys, 'signing keys'));
}

/**
 * `current` signs. `next` is published, and signs after the next rotation, when every verifier knows it. `previous` no
 * longer signs, and is published until what it signed has expired.
 */
const KEY_STATES = ['current', 'next', 'previous'] as const;
export type KeyState = (typeof KEY_STATES)[number];

const KEY = {
  kid: text(),
  state: oneOf(KEY_STATES),
  /** The private part, sealed under the master key. */
  sealed: text(),
  createdAt: date(),
  /** When it became current; null before. */
  activatedAt: date().default(null),
  /** When it became previous; null before. */
  retiredAt: date().default(null),
};
/** A key as stored. */
export type StoredKey = EntityOf<typeof KEY>;

/** The keys of one algorithm: one current, one next, any number of previous ones. Changed and read as a whole. */
export const KEY_RING = {
  algorithm: oneOf(SIGNING_ALGORITHMS).stored('_id'),
  /** Incremented by each change. */
  version: number(),
  keys: listOf(KEY),
  /** Compromised keys, for as long as a token that they signed may exist. */
  dropped: listOf({ kid: text(), droppedAt: date() }),
};
export type KeyRing = EntityOf<typeof KEY_RING>;
export type DroppedKey = KeyRing['dropped'][number];

export type SigningKeyStore = {
  all(): Promise<KeyRing[]>;
  /** Only the versions, which is cheap enough to do every second. */
  versions(): Promise<Pick<KeyRing, 'algorithm' | 'version'>[]>;
  /** Inserts unless the algorithm has a ring. */
  insertIfNone(ring: KeyRing): Promise<void>;
  /** Writes the ring if the stored one is of the version before; returns whether it was. */
  replace(ring: KeyRing): Promise<boolean>;
};

export type SigningKeySet = PrivateKeys & {
  /** Different whenever the set is. */
  version: string;
  rings: readonly KeyRing[];
};

/**
 * The signing keys. Makes missing ones: of replicas that do so at once, all load the ones that were stored first.
 * Throws when the stored keys were sealed under another master key.
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

/** The version of a set of rings, in any order. */
export function versionOf(rings: readonly Pick<KeyRing, 'algorithm' | 'version'>[]): string {
  return rings
    .map(({ algorithm, version }) => `${algorithm}:${version}`)
    .sort()
    .join();
}

/** The ring's current or next key: it always has both. */
export function keyIn(ring: KeyRing, state: 'current' | 'next'): StoredKey {
  const key = ring.keys.find((it) => it.state === state);
  if (key === undefined) throw new Error(`There is no ${state} ${ring.algorithm} key in the database.`);
  return key;
}

/** A new key in the state `next`. */
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
      'The signing keys in the database were sealed under another master key: use that one, also as a further one ' +
        'after a comma, or another database.',
      { cause: error },
    );
  }
}
