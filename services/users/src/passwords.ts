import { unavailable } from '@gatehouse/kit/errors';
import { hash } from '@node-rs/argon2';
import pLimit from 'p-limit';
import type { PasswordHasher } from './user.ts';

/**
 * argon2id with 19 MiB, 2 passes, 1 lane: the first choice of the OWASP password storage cheat sheet.
 * 2 is Argon2id in the library's constant enum, which a type-stripping loader cannot read.
 */
const ARGON2ID = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** How many hashes may wait; more would only be answered after their callers have given up. */
const MAX_WAITING = 500;

/**
 * Hashes passwords, `concurrency` of them at a time: each takes a core and 19 MiB while it runs, on the
 * thread pool that file and DNS work shares. Throws `unavailable` when too many wait already.
 */
export function createPasswordHasher(options: { concurrency: number; maxWaiting?: number }): PasswordHasher {
  const { concurrency, maxWaiting = MAX_WAITING } = options;
  const slots = pLimit(concurrency);
  return {
    async hash(password) {
      if (slots.pendingCount >= maxWaiting) throw unavailable('Too many passwords are being set just now.');
      return slots(() => hash(canonical(password), ARGON2ID));
    },
  };
}

/** One password, however the keyboard composes its accents (RFC 8265 §4.2: OpaqueString, NFC). */
function canonical(password: string): string {
  return password.normalize('NFC');
}
