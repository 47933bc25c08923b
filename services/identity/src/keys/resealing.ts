import type { Sealer } from '@gatehouse/core/sealing';
import { type KeyRing, openRing, type SigningKeyStore } from './signing-keys.ts';

/**
 * Seals all stored keys under the master key in use, so that the others are needed no longer, and returns how many there
 * are. May be repeated. Throws when one of them was sealed under none of the master keys.
 */
export async function resealSigningKeys(store: SigningKeyStore, sealer: Sealer): Promise<number> {
  const rings = await store.all();
  // Nothing is written unless everything can be opened.
  for (const ring of rings) openRing(ring, sealer);
  const counts = await Promise.all(rings.map((ring) => resealRing(store, sealer, ring)));
  return counts.reduce((sum, count) => sum + count, 0);
}

async function resealRing(store: SigningKeyStore, sealer: Sealer, seen: KeyRing): Promise<number> {
  for (let ring: KeyRing | undefined = seen; ring !== undefined; ) {
    const keys = ring.keys.map((key) => ({
      ...key,
      sealed: sealer.seal(sealer.open(key.sealed, key.kid), key.kid),
    }));
    if (await store.replace({ ...ring, version: ring.version + 1, keys })) return keys.length;
    // Others have rotated at the same moment.
    ring = (await store.all()).find(({ algorithm }) => algorithm === seen.algorithm);
  }
  return 0;
}
