import { createHash, randomFillSync } from 'node:crypto';

// Crockford's base 32 in lower case: it sorts like the number that it encodes, and has no i, l, o, u.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const LENGTH = 26;

/** Replaces the id of a person whose account was deleted, in data that is kept without the person. */
export const DELETED_USER_ID = 'usr_deleted';

/** The bytes of an id, overwritten for each. */
const bytes = Buffer.alloc(16);
/** A buffer of random bytes: fetching eight at a time would cost more than the rest of an id. */
const randomPool = Buffer.alloc(1024);
let randomUsed = randomPool.length;
let lastTime = 0;
let sequence = 0;

/**
 * Makes an identifier: the prefix, `_`, and a 128-bit value in 26 characters. The value consists of 48 bits of
 * milliseconds, a 16-bit sequence number and 64 random bits: ids of one process sort in the order of their creation, and
 * ids of several processes by time. An id is not a secret.
 */
export function newId(prefix: string): string {
  const now = Date.now();
  if (now > lastTime) {
    lastTime = now;
    sequence = 0;
  } else {
    // The clock has not advanced: keep the last time, and borrow a millisecond when the sequence is full.
    sequence += 1;
    if (sequence > 0xffff) {
      lastTime += 1;
      sequence = 0;
    }
  }
  if (randomUsed === randomPool.length) {
    randomFillSync(randomPool);
    randomUsed = 0;
  }
  bytes.writeUIntBE(lastTime, 0, 6);
  bytes.writeUInt16BE(sequence, 6);
  randomPool.copy(bytes, 8, randomUsed, randomUsed + 8);
  randomUsed += 8;
  // 26 characters have two bits more than 16 bytes: those come first, and are 0.
  let text = '';
  let bits = 0;
  let length = 2;
  for (let i = 0; i < bytes.length; i += 1) {
    bits = (bits << 8) | (bytes[i] as number);
    length += 8;
    while (length >= 5) {
      length -= 5;
      text += ALPHABET[bits >> length];
      bits &= (1 << length) - 1;
    }
  }
  return `${prefix}_${text}`;
}

/** Whether the text is a well-formed id with this prefix; it need not exist. */
export function isId(prefix: string, text: string): boolean {
  return (
    text.length === prefix.length + 1 + LENGTH &&
    text.startsWith(`${prefix}_`) &&
    /^[0-9a-hjkmnp-tv-z]+$/.test(text.slice(prefix.length + 1))
  );
}

/** UUIDs, and the ids of Firebase and of MongoDB: no id of another kind here, nor the name of a service, is such a text. */
const IMPORTED_USER_ID = /^[A-Za-z0-9-]{20,64}$/;

/** Whether the text is a well-formed id of a user: one of ours, or one that an imported account brought along. */
export function isUserId(text: string): boolean {
  return isId('usr', text) || IMPORTED_USER_ID.test(text);
}

/** An id that is always the same for the same text. */
export function derivedId(prefix: string, text: string): string {
  const digest = createHash('sha256').update(text).digest().subarray(0, LENGTH);
  return `${prefix}_${Array.from(digest, (byte) => ALPHABET[byte % ALPHABET.length]).join('')}`;
}

/** The characters of an id that are its milliseconds. */
const TIME_LENGTH = 10;

/** The least id with this prefix that newId could make at this time, or later: ids before it are older. */
export function leastIdAt(prefix: string, at: Date): string {
  const limit = ALPHABET.length ** TIME_LENGTH;
  const ms = Math.min(Math.max(Math.ceil(at.getTime()), 0), limit - 1);
  let text = '';
  for (let rest = ms; text.length < TIME_LENGTH; rest = Math.floor(rest / ALPHABET.length)) {
    text = ALPHABET[rest % ALPHABET.length] + text;
  }
  return `${prefix}_${text.padEnd(LENGTH, '0')}`;
}

/** When an id was made by newId, to the millisecond. */
export function timeOfId(id: string): Date {
  const digits = id.slice(-LENGTH, TIME_LENGTH - LENGTH);
  return new Date([...digits].reduce((ms, digit) => ms * ALPHABET.length + ALPHABET.indexOf(digit), 0));
}
