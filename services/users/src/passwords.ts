import { unavailable } from '@gatehouse/core/errors';
import { hash, verify } from '@node-rs/argon2';
import pLimit from 'p-limit';
import { coversAll, memoryOf, verifyHash } from './hashes/hash-formats.ts';
import type { Passwords } from './user-service.ts';

/**
 * argon2id with 19 MiB, 2 passes, 1 lane: the first recommendation of the OWASP Password Storage Cheat Sheet.
 * 2 is Argon2id in the library's const enum, which type stripping cannot resolve.
 */
const ARGON2ID = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** The length of the queue; callers beyond it would give up before their turn. */
const MAX_WAITING = 500;

/** Checks of imported hashes that take more memory, in bytes, are made one at a time. */
const HEAVY = 32 * 1024 * 1024;

/**
 * Hashes and checks passwords, `concurrency` of them at a time: each takes a core and `memoryKiB` (19 MiB) on the thread
 * pool, which file system and DNS calls share. Throws `unavailable` when the queue is full.
 */
export function createPasswords(options: {
  concurrency: number;
  maxWaiting?: number;
  memoryKiB?: number | undefined;
}): Passwords {
  const { concurrency, maxWaiting = MAX_WAITING, memoryKiB: memoryCost = ARGON2ID.memoryCost } = options;
  const cost = { ...ARGON2ID, memoryCost };
  /** A hash (PHC string) of the same cost, checked when there is none, so that the timing does not tell. */
  const dummyHash = `$argon2id$v=19$m=${memoryCost},t=${cost.timeCost},p=${cost.parallelism}$${'A'.repeat(22)}$${'A'.repeat(43)}`;
  /** How all hashes begin that are made here. */
  const own = dummyHash.slice(0, dummyHash.lastIndexOf('$', dummyHash.lastIndexOf('$') - 1) + 1);
  const limit = pLimit(concurrency);
  const heavyLimit = pLimit(1);
  function limited<T>(work: () => Promise<T>): Promise<T> {
    if (limit.pendingCount >= maxWaiting) {
      throw unavailable('Too many passwords are being checked at the moment.');
    }
    return limit(work);
  }

  /** Checks a hash of another program, or of another cost. */
  async function verifyImported(stored: string, password: string): Promise<boolean> {
    const check = async () => {
      // Others hash what was typed.
      if (await verifyHash(stored, password)) return true;
      return canonical(password) !== password && (await verifyHash(stored, canonical(password)));
    };
    if (await (memoryOf(stored) > HEAVY ? heavyLimit(check) : check())) return true;
    // A right password is hashed again. A wrong one must not be answered sooner, nor sooner than for an unknown name.
    await verify(dummyHash, canonical(password));
    return false;
  }

  return {
    hash: async (password) => limited(() => hash(canonical(password), cost)),
    async verify(stored, password) {
      if (stored !== null && !stored.startsWith(own)) return limited(() => verifyImported(stored, password));
      const right = await limited(() => verify(stored ?? dummyHash, canonical(password)));
      return right && stored !== null;
    },
    isOutdated: (stored, password) => !stored.startsWith(own) && coversAll(stored, password),
  };
}

/** The same password however a keyboard composes accents (RFC 8265 §4.2: OpaqueString, NFC). */
function canonical(password: string): string {
  return password.normalize('NFC');
}
