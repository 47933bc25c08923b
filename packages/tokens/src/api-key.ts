import { randomBytes } from 'node:crypto';
import { API_KEY_PREFIX, base62, hashOf, LENGTHS, withChecksum } from '@gatehouse/verify/api-key';

/**
 * Makes an API key: the prefix, an id of 64 random bits, a secret of 256 random bits and a CRC-32 of all of these, in
 * base 62. Store the id and the hash; the key itself is shown once.
 */
export function newApiKey(): { id: string; key: string; hash: string } {
  const id = base62(BigInt(`0x${randomBytes(8).toString('hex')}`), LENGTHS.id);
  const secret = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), LENGTHS.secret);
  const key = withChecksum(API_KEY_PREFIX + id + secret);
  return { id, key, hash: hashOf(key) };
}
