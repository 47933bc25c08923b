import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Tells a key from a token, and lets secret scanners find leaked keys. */
export const API_KEY_PREFIX = 'gatehouse_';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** The numbers of base-62 characters that hold 64, 256 and 32 bits. */
export const LENGTHS = { id: 11, secret: 43, checksum: 6 };
const PATTERN = new RegExp(
  `^${API_KEY_PREFIX}[0-9A-Za-z]{${LENGTHS.id + LENGTHS.secret + LENGTHS.checksum}}$`,
);

/** The id in a key and the key's hash (SHA-256, base64url); undefined unless the text is a well-formed key. */
export function parseApiKey(text: string): { id: string; hash: string } | undefined {
  if (!PATTERN.test(text)) return undefined;
  // The checksum is not secret, so the comparison need not take constant time.
  if (text !== withChecksum(text.slice(0, -LENGTHS.checksum))) return undefined;
  const id = text.slice(API_KEY_PREFIX.length, API_KEY_PREFIX.length + LENGTHS.id);
  return { id, hash: hashOf(text) };
}

export function hashOf(key: string): string {
  return hash('sha256', key, 'base64url');
}

/** The prefix, id and secret of a key, followed by their CRC-32. */
export function withChecksum(body: string): string {
  return body + base62(BigInt(crc32(body)), LENGTHS.checksum);
}

export function base62(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n) text = ALPHABET[Number(rest % 62n)] + text;
  return text;
}
