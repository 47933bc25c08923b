import { unavailable } from '@gatehouse/kit/errors';
import { hash, verify } from '@node-rs/argon2';
import pLimit from 'p-limit';
import type { Passwords } from './user-service.ts';

/**
 * argon2id with 19 MiB, 2 passes, 1 lane: the first choice of the OWASP password storage cheat sheet.
 * 2 is Argon2id in the library's constant enum, which a type-stripping loader cannot read.
 */
const ARGON2ID = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** A hash of the same cost (PHC string) whose salt and digest are zero: of no password that anybody knows. */
const NOBODYS = `$argon2id$v=19$m=${ARGON2ID.memoryCost},t=${ARGON2ID.timeCost},p=${ARGON2ID.parallelism}$${'A'.repeat(22)}$${'A'.repeat(43)}`;

/** How many may wait; any more would be answered only after their callers have given up. */
const MAX_WAITING = 500;

/**
 * Hashes and checks passwords, `concurrency` of them at a time: each takes a core and 19 MiB while it runs, on
 * the thread pool that file and DNS work shares. Throws `unavailable` when too many wait already.
 */
export function createPasswords(options: { concurrency: number; maxWaiting?: number }): Passwords {
  const { concurrency, maxWaiting = MAX_WAITING } = options;
  const slots = pLimit(concurrency);
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (slots.pendingCount >= maxWaiting) {
      throw unavailable('Too many passwords are being set and checked just now.');
    }
    return slots(work);
  }
  return {
    hash: async (password) => inTurn(() => hash(canonical(password), ARGON2ID)),
    async verify(stored, password) {
      const right = await inTurn(() => verify(stored ?? NOBODYS, canonical(password)));
      return right && stored !== null;
    },
  };
}

/** One password, however the keyboard composes its accents (RFC 8265 §4.2: OpaqueString, NFC). */
function canonical(password: string): string {
  return password.normalize('NFC');
}
