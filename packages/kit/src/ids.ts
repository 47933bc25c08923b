import { randomFillSync } from 'node:crypto';

// Crockford's base 32 in lower case: sorts like the number it encodes, has no i, l, o, u.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const LENGTH = 26;

/** Random bytes for a while: to ask for each eight of them costs more than all the rest of an id. */
const random = Buffer.alloc(1024);
let used = random.length;
let lastTime = 0;
let sequence = 0;

/**
 * A new identifier: the prefix, `_`, and a 128-bit value in 26 characters. The value is 48 bits of
 * milliseconds, a 16-bit sequence and 64 random bits, so ids of one process sort in the order they were
 * made and ids of several processes sort by time. An id is not a secret.
 */
export function newId(prefix: string): string {
  const now = Date.now();
  if (now > lastTime) {
    lastTime = now;
    sequence = 0;
  } else {
    // The clock stands still or went back: stay on the last time, and borrow a millisecond when full.
    sequence += 1;
    if (sequence > 0xffff) {
      lastTime += 1;
      sequence = 0;
    }
  }
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  let value = (BigInt(lastTime) << 80n) | (BigInt(sequence) << 64n) | random.readBigUInt64BE(used);
  used += 8;
  let text = '';
  for (let i = 0; i < LENGTH; i += 1) {
    text = ALPHABET[Number(value & 31n)] + text;
    value >>= 5n;
  }
  return `${prefix}_${text}`;
}

/** Whether the text has the form of an id with this prefix; says nothing about its existence. */
export function isId(prefix: string, text: string): boolean {
  return (
    text.length === prefix.length + 1 + LENGTH &&
    text.startsWith(`${prefix}_`) &&
    /^[0-9a-hjkmnp-tv-z]+$/.test(text.slice(prefix.length + 1))
  );
}
