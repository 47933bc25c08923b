import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** Keys for one purpose, so that one can replace another: the first is used, and all are accepted. */
export type KeyList = readonly [Buffer, ...Buffer[]];

/** Encrypts and authenticates small secrets for storage. */
export type Sealer = {
  /** Returns base64url text. `context` is bound to it: it opens only with the same. */
  seal(plain: string, context: string): string;
  /** Throws when the text was sealed under none of the keys or another context, or was altered. */
  open(sealed: string, context: string): string;
};

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** AES-256-GCM (NIST SP 800-38D) with a random nonce; what is stored is the nonce, the tag and the ciphertext. */
export function createSealer(keys: KeyList): Sealer {
  return {
    seal(plain, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', keys[0], nonce).setAAD(Buffer.from(context));
      const ciphertext = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]).toString('base64url');
    },
    open(sealed, context) {
      const bytes = Buffer.from(sealed, 'base64url');
      for (const key of keys.slice(0, -1)) {
        try {
          return openWith(key, bytes, context);
        } catch {
          // Only the tag tells whether a key is the right one.
        }
      }
      return openWith(keys.at(-1) as Buffer, bytes, context);
    },
  };
}

function openWith(key: Buffer, bytes: Buffer, context: string): string {
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(context))
    .setAuthTag(tag);
  const ciphertext = bytes.subarray(NONCE_BYTES + TAG_BYTES);
  return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8');
}

/** Keys of 256 bits for one purpose (HKDF, RFC 5869). They reveal nothing about the keys for other purposes. */
export function deriveKeys([inUse, ...accepted]: KeyList, purpose: string): KeyList {
  const derive = (masterKey: Buffer) =>
    Buffer.from(hkdfSync('sha256', masterKey, '', `gatehouse ${purpose}`, 32));
  return [derive(inUse), ...accepted.map(derive)];
}
