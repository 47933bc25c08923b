import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Tells a key from a token, and lets secret scanners find leaked keys. */
export const API_KEY_PREFIX = 'gatehouse_';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** The numbers of base-62 characters that hold 64, 256 and 32 bits. */
const LENGTHS = { id: 11, secret: 43, checksum: 6 };
const PATTERN = new RegExp(
  `^${API_KEY_PREFIX}[0-9A-Za-z]{${LENGTHS.id + LENGTHS.secret + LENGTHS.checksum}}$`,
);

/**
 * Makes an API key: the prefix, an id of 64 random bits, a secret of 256 random bits and a CRC-32 of all of these, in
 * base 62. Store the id and the hash; the key itself is shown once.
 */
export function newApiKey(): { id: string; key: string; hash: string } {
  const id = base62(BigInt(`0x${randomBytes(8).toString('hex')}`), LENGTHS.id);
  const secret = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), LENGTHS.secret);
  const body = API_KEY_PREFIX + id + secret;
  const key = body + checksumOf(body);
  return { id, key, hash: hashOf(key) };
}

/** The id in a key and the key's hash (SHA-256, base64url); undefined unless the text is a well-formed key. */
export function parseApiKey(text: string): { id: string; hash: string } | undefined {
  if (!PATTERN.test(text)) return undefined;
  const body = text.slice(0, -LENGTHS.checksum);
  // The checksum is not secret, so the comparison need not take constant time.
  if (text.slice(-LENGTHS.checksum) !== checksumOf(body)) return undefined;
  const id = body.slice(API_KEY_PREFIX.length, API_KEY_PREFIX.length + LENGTHS.id);
  return { id, hash: hashOf(text) };
}

function hashOf(key: string): string {
  return hash('sha256', key, 'base64url');
}

function checksumOf(body: string): string {
  return base62(BigInt(crc32(body)), LENGTHS.checksum);
}

function base62(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n) text = ALPHABET[Number(rest % 62n)] + text;
  return text;
}
