import type { Sealer } from '@gatehouse/core/sealing';
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from '../core/tokens/signing-algorithms.ts';
import {
  type KeyRing,
  keyIn,
  loadSigningKeys,
  makeKey,
  openRing,
  type SigningKeyStore,
  type StoredKey,
} from './signing-keys.ts';

/** In seconds: longer than the ten minutes for which verifiers cache keys (jose's cacheMaxAge). */
export const PUBLISHED_BEFORE_SIGNING = 15 * 60;

export type RotationOptions = {
  /** Both by default. */
  algorithm?: SigningAlgorithm;
  /** Does not rotate unless this is the current key: of several requests to replace it, one takes effect. */
  replaces?: string;
  /** The keys may have leaked: all that are stored are dropped at once, the next one included, and new ones are made. */
  compromised?: boolean;
  /** Does not rotate a key that has signed for less; 0 by default. */
  minAgeSeconds?: number;
  /** Does not rotate to a next key that has been published for less; 0 by default. */
  minPublishedSeconds?: number;
};

export type Rotation = {
  algorithm: SigningAlgorithm;
  /** The key that was current. */
  retired: string;
  current: string;
  /** The keys that are no longer published, after a compromise. */
  dropped: string[];
  /** How long the new current key has been published, in seconds. */
  published: number;
};

/**
 * Makes the next key current, and a new next one; after a compromise both are new, since the next key is stored beside
 * the current one and leaks with it. One of several rotations that start from the same keys takes effect. Throws when the
 * stored keys were sealed under another master key.
 */
export async function rotateSigningKeys(
  store: SigningKeyStore,
  sealer: Sealer,
  options: RotationOptions = {},
): Promise<{ rotated: Rotation[] }> {
  const { rings } = await loadSigningKeys(store, sealer);
  const algorithms = options.algorithm === undefined ? SIGNING_ALGORITHMS : [options.algorithm];
  const chosen = rings.filter(({ algorithm }) => algorithms.includes(algorithm));
  const rotations = await Promise.all(chosen.map((ring) => rotateRing(store, sealer, ring, options)));
  return { rotated: rotations.filter((rotation) => rotation !== undefined) };
}

async function rotateRing(
  store: SigningKeyStore,
  sealer: Sealer,
  seen: KeyRing,
  options: RotationOptions,
): Promise<Rotation | undefined> {
  const { algorithm } = seen;
  const { replaces = keyIn(seen, 'current').kid } = options;
  if (replaces !== keyIn(seen, 'current').kid || !isDue(seen, options, new Date())) return undefined;
  const fresh: StoredKey[] = [];
  for (let ring: KeyRing | undefined = seen; ring !== undefined; ) {
    const kids = ring.keys.map(({ kid }) => kid);
    const concerned = options.compromised
      ? seen.keys.some(({ kid }) => kids.includes(kid))
      : keyIn(ring, 'current').kid === keyIn(seen, 'current').kid;
    if (!concerned) return undefined;
    const needed = options.compromised ? 2 : 1;
    while (fresh.length < needed) fresh.push(await makeKey(algorithm, sealer));
    const now = new Date();
    const changed = options.compromised ? replaced(ring, fresh, now) : rotated(ring, fresh, now);
    if (await store.replace(changed)) return describe(ring, changed, now);
    ring = (await store.all()).find((it) => it.algorithm === algorithm);
    // Keys that another process wrote in the meantime must be readable, too, before they are overwritten.
    if (ring !== undefined) openRing(ring, sealer);
  }
  return undefined;
}

/** Whether the current key has signed, and the next one has been published, for long enough. */
export function isDue(ring: KeyRing, options: RotationOptions, now: Date): boolean {
  return secondsUntilDue(ring, options, now) <= 0;
}

/** In how many seconds isDue() will be true; below 0 since when it is. */
export function secondsUntilDue(
  ring: KeyRing,
  { minAgeSeconds = 0, minPublishedSeconds = 0 }: RotationOptions,
  now: Date,
): number {
  return Math.max(
    minAgeSeconds - secondsBetween(keyIn(ring, 'current').activatedAt ?? now, now),
    minPublishedSeconds - secondsBetween(keyIn(ring, 'next').createdAt, now),
  );
}

/** The ring without what was retired before this time; undefined when that changes nothing. */
export function withoutRetired(ring: KeyRing, before: Date): KeyRing | undefined {
  const keys = ring.keys.filter(({ retiredAt }) => retiredAt === null || retiredAt >= before);
  const dropped = ring.dropped.filter(({ droppedAt }) => droppedAt >= before);
  if (keys.length === ring.keys.length && dropped.length === ring.dropped.length) return undefined;
  return { ...ring, version: ring.version + 1, keys, dropped };
}

function rotated(ring: KeyRing, fresh: readonly StoredKey[], now: Date): KeyRing {
  const keys = ring.keys.map((key): StoredKey => {
    if (key.state === 'current') return { ...key, state: 'previous', retiredAt: now };
    return key.state === 'next' ? { ...key, state: 'current', activatedAt: now } : key;
  });
  return { ...ring, version: ring.version + 1, keys: [...keys, ...fresh] };
}

/** Drops every key, also one that others have made meanwhile, and begins with new ones. */
function replaced(ring: KeyRing, fresh: readonly StoredKey[], now: Date): KeyRing {
  return {
    ...ring,
    version: ring.version + 1,
    keys: fresh.map((key, i) => (i === 0 ? { ...key, state: 'current', activatedAt: now } : key)),
    dropped: [...ring.dropped, ...ring.keys.map(({ kid }) => ({ kid, droppedAt: now }))],
  };
}

function describe(before: KeyRing, after: KeyRing, now: Date): Rotation {
  const current = keyIn(after, 'current');
  const left = new Set(after.keys.map(({ kid }) => kid));
  return {
    algorithm: after.algorithm,
    retired: keyIn(before, 'current').kid,
    current: current.kid,
    dropped: before.keys.map(({ kid }) => kid).filter((kid) => !left.has(kid)),
    published: Math.floor(secondsBetween(current.createdAt, now)),
  };
}

function secondsBetween(from: Date, to: Date): number {
  return (to.getTime() - from.getTime()) / 1000;
}
