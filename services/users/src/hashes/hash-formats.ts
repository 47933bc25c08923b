import { createCipheriv, createHash, pbkdf2, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { verify as verifyArgon2 } from '@node-rs/argon2';
import { badHash, type Phc, readPhc, writePhc } from './phc.ts';

/** Least and greatest, inclusive. */
type Range = readonly [min: number, max: number];

type Format = {
  /** All of its parameters, in the order in which they are written. */
  params: Readonly<Record<string, Range>>;
  /** The sizes of salt and hash, in bytes. */
  salt: Range;
  hash: Range;
  /** Whether the parameters fit each other. */
  fits?(params: Phc['params']): boolean;
  /** The memory of one check, in bytes, and how often it is written, which is what takes its time. */
  cost?(params: Phc['params']): [memory: number, passes: number];
  /** The hash of this password; without it, the format is that of argon2, whose library reads PHC strings. */
  derive?(hash: Phc, password: string): Promise<Buffer>;
};

const MIB = 1024 * 1024;
/** No check takes more memory, or more than about 1.5 s of a processor. They are documented in docs/threat-model.md. */
const MAX_MEMORY = 128 * MIB;
const MAX_WRITTEN = 512 * MIB;
const MAX_BCRYPT_COST = 14;
const SALT: Range = [1, 128];
/** Shorter hashes are matched by chance, or were cut. */
const HASH: Range = [16, 64];
/** The bytes of a password that bcrypt reads. */
const BCRYPT_READS = 72;

const pbkdf2Key = promisify(pbkdf2);
const scryptKey = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

const argon2: Format = {
  // RFC 9106 §3.1; version 16 is 1.0, and 19 is 1.3.
  params: { v: [16, 19], m: [8, MAX_MEMORY / 1024], t: [1, 64], p: [1, 16] },
  salt: [8, 64],
  hash: HASH,
  fits: ({ v, m = 0, p = 0 }) => (v === 16 || v === 19) && m >= 8 * p,
  cost: ({ m = 0, t = 0 }) => [m * 1024, t],
};

const scryptFormat = {
  params: { ln: [1, 20], r: [1, 32], p: [1, 16] },
  salt: SALT,
  hash: HASH,
  // RFC 7914 §2.
  fits: ({ ln = 0, r = 0 }) => ln < 16 * r,
  cost: ({ ln = 0, r = 0, p = 0 }) => [128 * 2 ** ln * r, p],
  derive: ({ params: { ln = 1, r = 1, p = 1 }, salt, hash }, password) =>
    scryptKey(password, salt, hash.length, { N: 2 ** ln, r, p, maxmem: 2 * MAX_MEMORY }),
} satisfies Format;

/**
 * Firebase's variant (https://github.com/firebase/scrypt) encrypts a key of the project with what scrypt derives. Here the
 * hash is the key stream of that encryption, so that no account holds the key of the project.
 */
const firebaseScrypt: Format = {
  ...scryptFormat,
  params: { ...scryptFormat.params, p: [1, 1] },
  async derive(phc, password) {
    const key = await scryptFormat.derive({ ...phc, hash: Buffer.alloc(32) }, password);
    return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(phc.hash.length));
  },
};

/** RFC 8018 §5.2. What exceeds one block of the digest is not kept: it adds to the cost and not to the security. */
const pbkdf2Format = (digest: string, size: number): Format => ({
  params: { i: [1, 2_000_000] },
  salt: SALT,
  hash: [16, size],
  derive: ({ params: { i = 1 }, salt, hash }, password) => pbkdf2Key(password, salt, i, hash.length, digest),
});

/** RFC 2307 §5.3 and its successors: the digest of the password and the salt. */
const saltedDigest = (digest: string, size: number): Format => ({
  params: {},
  salt: SALT,
  hash: [size, size],
  derive: async ({ salt }, password) => createHash(digest).update(password).update(salt).digest(),
});

/** The work of phpass-thread.ts. */
export type PhpassInput = { password: string; salt: Uint8Array; rounds: number };

/** The portable hashes of phpass (https://www.openwall.com/phpass/): 2^ln rounds of MD5, in a thread. */
const phpass: Format = {
  params: { ln: [7, 18] },
  salt: [8, 8],
  hash: [16, 16],
  async derive({ params: { ln = 0 }, salt }, password) {
    const workerData: PhpassInput = { password, salt, rounds: 2 ** ln };
    const thread = new Worker(new URL('./phpass-thread.ts', import.meta.url), { workerData });
    const [digest] = (await once(thread, 'message')) as [Uint8Array];
    return Buffer.from(digest);
  },
};

/** By the ids of their PHC strings. Those in use elsewhere have the same form there; the others are our own. */
const FORMATS: ReadonlyMap<string, Format> = new Map([
  ['argon2i', argon2],
  ['argon2id', argon2],
  ['scrypt', scryptFormat],
  ['scrypt-firebase', firebaseScrypt],
  ['pbkdf2-sha1', pbkdf2Format('sha1', 20)],
  ['pbkdf2-sha256', pbkdf2Format('sha256', 32)],
  ['pbkdf2-sha512', pbkdf2Format('sha512', 64)],
  ['salted-sha1', saltedDigest('sha1', 20)],
  ['salted-sha256', saltedDigest('sha256', 32)],
  ['salted-sha512', saltedDigest('sha512', 64)],
  ['phpass', phpass],
]);

/** The last characters of salt and hash have bits of no meaning, which are 0. */
const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{30}[.CGKOSWaeimquy26]$/;

/**
 * The form in which a hash is stored, which verifyHash() checks passwords against. Throws `invalid` for a format that is unknown, and for one
 * whose check would cost too much. What it throws names nothing of the hash but its parameters.
 */
export function storedHash(hash: string | Phc): string {
  const bcrypt = typeof hash === 'string' ? BCRYPT.exec(hash) : null;
  if (bcrypt !== null) {
    requireRange('a cost of bcrypt', Number(bcrypt[1]), [4, MAX_BCRYPT_COST]);
    return bcrypt[0];
  }
  const phc = typeof hash === 'string' ? readPhc(hash) : hash;
  const format = phc && FORMATS.get(phc.id);
  if (phc === undefined || format === undefined) throw badHash('is of a format that is not supported');
  const { id } = phc;
  const unknown = Object.keys(phc.params).find((name) => !Object.hasOwn(format.params, name));
  if (unknown !== undefined) throw badHash(`of ${id} has the unknown parameter ${unknown}`);
  const params: Record<string, number> = {};
  for (const [name, range] of Object.entries(format.params)) {
    const value = phc.params[name];
    if (value === undefined) throw badHash(`of ${id} lacks the parameter ${name}`);
    requireRange(`a parameter ${name} of ${id}`, value, range);
    params[name] = value;
  }
  if (format.fits?.(params) === false) throw badHash(`of ${id} has parameters that do not fit each other`);
  const [memory, passes] = format.cost?.(params) ?? [0, 0];
  if (memory > MAX_MEMORY) throw badHash(`of ${id} takes more than ${MAX_MEMORY / MIB} MiB of memory`);
  if (memory * passes > MAX_WRITTEN) throw badHash(`of ${id} takes too long to check`);
  requireRange(`a salt of ${id}, in bytes,`, phc.salt.length, format.salt);
  requireRange(`a length of ${id}, in bytes,`, phc.hash.length, format.hash);
  return writePhc({ ...phc, params });
}

/** Whether this is the password of a stored hash; none has the empty password, or one with a NUL, which some formats ignore. */
export async function verifyHash(stored: string, password: string): Promise<boolean> {
  const isRight = await verify(stored, password);
  return isRight && password !== '' && !password.includes('\0');
}

async function verify(stored: string, password: string): Promise<boolean> {
  if (BCRYPT.test(stored)) return (await import('@node-rs/bcrypt')).verify(password, stored);
  const phc = readPhc(stored);
  const format = phc && FORMATS.get(phc.id);
  if (phc === undefined || format === undefined)
    throw new Error('a stored password hash has an unknown format');
  if (format.derive === undefined) return verifyArgon2(stored, password);
  return timingSafeEqual(await format.derive(phc, password), phc.hash);
}

/** The memory that checking a stored hash takes, in bytes. */
export function memoryOf(stored: string): number {
  const phc = readPhc(stored);
  return (phc && FORMATS.get(phc.id)?.cost?.(phc.params))?.[0] ?? 0;
}

/** Whether the hash is of the whole password: bcrypt reads 72 bytes, and takes for right whatever follows them. */
export function coversAll(stored: string, password: string): boolean {
  return !BCRYPT.test(stored) || Buffer.byteLength(password) <= BCRYPT_READS;
}

function requireRange(noun: string, value: number, [min, max]: Range): void {
  if (!Number.isSafeInteger(value) || value < min || value > max)
    throw badHash(`has ${noun} of ${value}: it must be from ${min} to ${max}`);
}
