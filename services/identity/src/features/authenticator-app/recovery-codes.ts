import { randomBytes, type ScryptOptions, scrypt } from 'node:crypto';
import type { RecoveryCodes } from './authenticator-app.ts';

const NUMBER = 10;
/** The alphabet of base32 (RFC 4648 §6), without digits that look like letters. */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
/** 80 bits. */
const LENGTH = 16;
const PLAIN = /^[A-Z2-7]{16}$/;
/** A code as people see it. */
export const WRITTEN_CODE = /^[A-Z2-7]{4}(?:-[A-Z2-7]{4}){3}$/;
/** Cheaper than for passwords, as nobody could try 2^80 codes anyway. */
const COST: ScryptOptions = { N: 4096 };

/** Ten new codes as people see them, and what is stored of them. */
export async function createRecoveryCodes(): Promise<{ written: string[]; stored: RecoveryCodes }> {
  const recoverySalt = randomBytes(16).toString('base64url');
  const codes = Array.from({ length: NUMBER }, () =>
    Array.from(randomBytes(LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]).join(''),
  );
  const recoveryCodes: string[] = [];
  // One after the other, for the memory that each takes.
  for (const code of codes) recoveryCodes.push(await hashOf(code, recoverySalt));
  return {
    written: codes.map((code) => code.replaceAll(/.{4}(?=.)/g, '$&-')),
    stored: { recoverySalt, recoveryCodes },
  };
}

/** The hash of a code (NIST SP 800-63B §5.1.2.2: salted, by a key derivation function); undefined if it is none. */
export async function hashOfRecoveryCode(code: string, salt: string): Promise<string | undefined> {
  return PLAIN.test(code) ? hashOf(code, salt) : undefined;
}

function hashOf(code: string, salt: string): Promise<string> {
  return new Promise((resolve, reject) => {
    scrypt(code, salt, 32, COST, (error, key) => {
      if (error === null) resolve(key.toString('base64url'));
      else reject(error);
    });
  });
}
