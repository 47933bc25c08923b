import { createCipheriv, createHash, pbkdf2, scrypt, timingSafeEqual } from 'node:crypto';
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
  /** The memory of one check, in bytes. */
  memory?(params: Phc['params']): number;
  /** The memory that is written in one check, in bytes, which is what takes its time. */
  work?(params: Phc['params']): number;
  verify(hash: Phc, password: string): Promise<boolean>;
};

const MIB = 1024 * 1024;
/** No check takes more memory, or more than about two seconds of a processor. They are documented in SECURITY.md. */
const MAX_MEMORY = 128 * MIB;
const MAX_WORK = 512 * MIB;
const MAX_BCRYPT_COST = 14;
const SALT: Range = [1, 128];
/** Shorter hashes are matched by chance, or were cut. */
const HASH: Range = [16, 64];
/** What bcrypt reads of a password, in bytes. */
const BCRYPT_READS = 72;

const derivePbkdf2 = promisify(pbkdf2);

const argon2: Format = {
  // RFC 9106 §3.1; version 16 is 1.0, and 19 is 1.3.
  params: { v: [16, 19], m: [8, MAX_MEMORY / 1024], t: [1, 64], p: [1, 16] },
  salt: [8, 64],
  hash: HASH,
  fits: ({ v, m = 0, p = 0 }) => (v === 16 || v === 19) && m >= 8 * p,
  memory: ({ m = 0 }) => m * 1024,
  work: ({ m = 0, t = 0 }) => m * t * 1024,
  verify: (phc, password) => verifyArgon2(writePhc(phc), password),
};

const scryptFormat: Format = {
  params: { ln: [1, 20], r: [1, 32], p: [1, 16] },
  salt: SALT,
  hash: HASH,
  // RFC 7914 §2.
  fits: ({ ln = 0, r = 0 }) => ln < 16 * r,
  memory: ({ ln = 0, r = 0 }) => 128 * 2 ** ln * r,
  work: ({ ln = 0, r = 0, p = 0 }) => 128 * 2 ** ln * r * p,
  verify: async (phc, password) => equal(await deriveScrypt(phc, password, phc.hash.length), phc.hash),
};

/**
 * Firebase's variant (https://github.com/firebase/scrypt) encrypts a key of the project with what scrypt derives. Here the
 * hash is the key stream of that encryption, so that no account holds the key of the project.
 */
const firebaseScrypt: Format = {
  ...scryptFormat,
  params: { ...scryptFormat.params, p: [1, 1] },
  async verify(phc, password) {
    const key = await deriveScrypt(phc, password, 32);
    const keyStream = createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(
      Buffer.alloc(phc.hash.length),
    );
    return equal(keyStream, phc.hash);
  },
};

/** RFC 8018 §5.2. What exceeds one block of the digest is not kept: it adds to the cost and not to the security. */
const pbkdf2Format = (digest: string, size: number): Format => ({
  params: { i: [1, 2_000_000] },
  salt: SALT,
  hash: [16, size],
  async verify({ params: { i = 1 }, salt, hash }, password) {
    return equal(await derivePbkdf2(password, salt, i, hash.length, digest), hash);
  },
});

/** RFC 2307 §5.3 and its successors: the digest of the password and the salt. */
const saltedDigest = (digest: string, size: number): Format => ({
  params: {},
  salt: SALT,
  hash: [size, size],
  verify: async ({ salt, hash }, password) =>
    equal(createHash(digest).update(password).update(salt).digest(), hash),
});

/** The portable hashes of phpass (https://www.openwall.com/phpass/): 2^ln rounds of MD5, in a thread. */
const phpass: Format = {
  params: { ln: [7, 18] },
  salt: [8, 8],
  hash: [16, 16],
  verify: async ({ params: { ln = 0 }, salt, hash }, password) =>
    equal(await derivePhpass({ password, salt, rounds: 2 ** ln }), hash),
};

/** By the ids of their PHC strings. Those in use elsewhere have the same form there; the others are our own. */
const FORMATS: Readonly<Record<string, Format>> = {
  argon2i: argon2,
  argon2id: argon2,
  scrypt: scryptFormat,
  'scrypt-firebase': firebaseScrypt,
  'pbkdf2-sha1': pbkdf2Format('sha1', 20),
  'pbkdf2-sha256': pbkdf2Format('sha256', 32),
  'pbkdf2-sha512': pbkdf2Format('sha512', 64),
  'salted-sha1': saltedDigest('sha1', 20),
  'salted-sha256': saltedDigest('sha256', 32),
  'salted-sha512': saltedDigest('sha512', 64),
  phpass,
};

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
  const format = phc && formatOf(phc.id);
  if (phc === undefined || format === undefined) throw badHash('is of a format that is not supported');
  const { id } = phc;
  for (const name of Object.keys(phc.params)) {
    if (!Object.hasOwn(format.params, name)) throw badHash(`of ${id} has the unknown parameter ${name}`);
  }
  const params: Record<string, number> = {};
  for (const [name, range] of Object.entries(format.params)) {
    const value = phc.params[name];
    if (value === undefined) throw badHash(`of ${id} lacks the parameter ${name}`);
    requireRange(`a parameter ${name} of ${id}`, value, range);
    params[name] = value;
  }
  if (format.fits?.(params) === false) throw badHash(`of ${id} has parameters that do not fit each other`);
  if ((format.memory?.(params) ?? 0) > MAX_MEMORY)
    throw badHash(`of ${id} takes more than ${MAX_MEMORY / MIB} MiB of memory`);
  if ((format.work?.(params) ?? 0) > MAX_WORK) throw badHash(`of ${id} takes too long to check`);
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
  if (BCRYPT.test(stored)) {
    const { verify: verifyBcrypt } = await import('@node-rs/bcrypt');
    return verifyBcrypt(password, stored);
  }
  const phc = readPhc(stored);
  const format = phc && formatOf(phc.id);
  if (phc === undefined || format === undefined)
    throw new Error('a stored password hash has an unknown format');
  return format.verify(phc, password);
}

/** The memory that checking a stored hash takes, in bytes. */
export function memoryOf(stored: string): number {
  const phc = readPhc(stored);
  return (phc && formatOf(phc.id)?.memory?.(phc.params)) ?? 0;
}

/** Whether the hash is of the whole password: bcrypt reads 72 bytes, and takes for right whatever follows them. */
export function coversAll(stored: string, password: string): boolean {
  return !BCRYPT.test(stored) || Buffer.byteLength(password) <= BCRYPT_READS;
}

const formatOf = (id: string) => (Object.hasOwn(FORMATS, id) ? FORMATS[id] : undefined);

function requireRange(noun: string, value: number, [min, max]: Range): void {
  if (!Number.isSafeInteger(value) || value < min || value > max)
    throw badHash(`has ${noun} of ${value}: it must be from ${min} to ${max}`);
}

function equal(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

function deriveScrypt({ params, salt }: Phc, password: string, length: number): Promise<Buffer> {
  const { ln = 1, r = 1, p = 1 } = params;
  const options = { N: 2 ** ln, r, p, maxmem: 2 * MAX_MEMORY };
  return new Promise((resolve, reject) => {
    scrypt(password, salt, length, options, (error, key) => (error ? reject(error) : resolve(key)));
  });
}

/** The work of phpass-thread.ts. */
export type PhpassInput = { password: string; salt: Uint8Array; rounds: number };

async function derivePhpass(workerData: PhpassInput): Promise<Buffer> {
  const thread = new Worker(new URL('./phpass-thread.ts', import.meta.url), { workerData });
  return new Promise((resolve, reject) => {
    thread.once('message', (digest: Uint8Array) => resolve(Buffer.from(digest)));
    thread.once('error', reject);
  });
}
