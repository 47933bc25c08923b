import { storedHash } from './hash-formats.ts';
import { badHash, fromBase64, type Phc } from './phc.ts';

/** How other programs write hashes. Each pattern has the groups that `read` takes; `read` may throw `invalid`. */
type Notation = { pattern: RegExp; read(groups: Record<string, string>): Phc | string };

const SHA = 'sha(?:1|256|512)';

const NOTATIONS: readonly Notation[] = [
  {
    // Django (django.contrib.auth.hashers): the salt is text.
    pattern: new RegExp(`^pbkdf2_(?<digest>${SHA})\\$(?<i>\\d{1,15})\\$(?<salt>[^$]+)\\$(?<hash>[^$]+)$`),
    read: ({ digest, i, salt = '', hash = '' }) =>
      pbkdf2Hash({ digest, iterations: i, salt: Buffer.from(salt), hash: fromBase64(hash) }),
  },
  {
    pattern: /^scrypt\$(?<n>\d{1,15})\$(?<salt>[^$]+)\$(?<r>\d{1,15})\$(?<p>\d{1,15})\$(?<hash>[^$]+)$/,
    read: ({ salt = '', hash = '', ...cost }) =>
      scryptHash({ ...cost, salt: Buffer.from(salt), hash: fromBase64(hash) }),
  },
  { pattern: /^argon2(?<phc>\$argon2.+)$/, read: ({ phc = '' }) => phc },
  {
    // Werkzeug (werkzeug.security).
    pattern: new RegExp(`^pbkdf2:(?<digest>${SHA}):(?<i>\\d{1,15})\\$(?<salt>[^$]+)\\$(?<hash>[0-9a-f]+)$`),
    read: ({ digest, i, salt = '', hash = '' }) =>
      pbkdf2Hash({ digest, iterations: i, salt: Buffer.from(salt), hash: Buffer.from(hash, 'hex') }),
  },
  {
    pattern: /^scrypt:(?<n>\d{1,15}):(?<r>\d{1,15}):(?<p>\d{1,15})\$(?<salt>[^$]+)\$(?<hash>[0-9a-f]+)$/,
    read: ({ salt = '', hash = '', ...cost }) =>
      scryptHash({ ...cost, salt: Buffer.from(salt), hash: Buffer.from(hash, 'hex') }),
  },
  {
    // Passlib: no name before the rounds, and a dot for the plus of Base64.
    pattern: /^\$pbkdf2(?:-(?<digest>sha256|sha512))?\$(?<i>\d{1,15})\$(?<salt>[^$]*)\$(?<hash>[^$]+)$/,
    read: ({ digest = 'sha1', i, salt = '', hash = '' }) =>
      pbkdf2Hash({
        digest,
        iterations: i,
        salt: fromBase64(salt.replaceAll('.', '+')),
        hash: fromBase64(hash.replaceAll('.', '+')),
      }),
  },
  {
    // Auth0 names the length beside the rounds (https://auth0.com/docs/manage-users/user-migration/bulk-user-import-database-schema-and-examples).
    pattern: new RegExp(
      `^\\$pbkdf2-(?<digest>${SHA})\\$i=(?<i>\\d{1,15}),l=\\d{1,15}\\$(?<salt>[^$]*)\\$(?<hash>[^$]+)$`,
    ),
    read: ({ digest, i, salt = '', hash = '' }) =>
      pbkdf2Hash({ digest, iterations: i, salt: fromBase64(salt), hash: fromBase64(hash) }),
  },
  {
    // LDAP (RFC 2307 §5.3): the digest, then the salt.
    pattern: /^\{SSHA(?<size>256|512|)\}(?<bytes>.+)$/i,
    read({ size, bytes = '' }) {
      const both = fromBase64(bytes);
      const length = size === '' ? 20 : Number(size) / 8;
      const id = `salted-sha${size || 1}`;
      return { id, params: {}, salt: both.subarray(length), hash: both.subarray(0, length) };
    },
  },
  {
    // phpass: WordPress ($P$), phpBB ($H$).
    pattern: /^\$[PH]\$(?<ln>[./0-9A-Za-z])(?<salt>[./0-9A-Za-z]{8})(?<hash>[./0-9A-Za-z]{22})$/,
    read: ({ ln = '', salt = '', hash = '' }) => ({
      id: 'phpass',
      params: { ln: ITOA64.indexOf(ln) },
      salt: Buffer.from(salt),
      hash: fromItoa64(hash),
    }),
  },
  {
    // ASP.NET Core Identity (PasswordHasher): version 2 is 0, a salt of 16 bytes, and 1000 rounds of SHA-1.
    pattern: /^(?<bytes>AA[A-Za-z0-9+/]{64}==)$/,
    read({ bytes = '' }) {
      const all = fromBase64(bytes);
      return pbkdf2Hash({
        digest: 'sha1',
        iterations: 1000,
        salt: all.subarray(1, 17),
        hash: all.subarray(17),
      });
    },
  },
  {
    // Version 3 is 1, and the digest, the rounds and the length of the salt as numbers of 32 bits.
    pattern: /^(?<bytes>AQAAAA[A-Za-z0-9+/]{40,400}={0,2})$/,
    read({ bytes = '' }) {
      const all = fromBase64(bytes);
      const digest = ['sha1', 'sha256', 'sha512'][all.readUInt32BE(1)];
      const end = 13 + all.readUInt32BE(9);
      const [salt, hash] = [all.subarray(13, end), all.subarray(end)];
      return pbkdf2Hash({ digest, iterations: all.readUInt32BE(5), salt, hash });
    },
  },
];

/**
 * The form in which a hash is stored, of one that another program has written. Throws `invalid` for one that no program here
 * writes, and for one whose check would cost too much.
 */
export function hashOf(text: string): string {
  for (const { pattern, read } of NOTATIONS) {
    const groups = pattern.exec(text)?.groups;
    if (groups !== undefined) return storedHash(read(groups));
  }
  return storedHash(text);
}

/** PBKDF2 with an HMAC of this digest: sha1, sha256 or sha512. What exceeds a block of the digest is cut off. */
export function pbkdf2Hash(options: {
  digest: string | undefined;
  iterations: number | string | undefined;
  salt: Buffer;
  hash: Buffer;
}): Phc {
  const { digest = 'another digest', iterations, salt, hash } = options;
  const size = { sha1: 20, sha256: 32, sha512: 64 }[digest];
  if (size === undefined) throw badHash(`is PBKDF2 with ${digest}, which is not supported`);
  return { id: `pbkdf2-${digest}`, params: { i: Number(iterations) }, salt, hash: hash.subarray(0, size) };
}

/** Scrypt with `n` as it is, which must be a power of 2. */
export function scryptHash(options: {
  n?: number | string;
  r?: number | string;
  p?: number | string;
  salt: Buffer;
  hash: Buffer;
}): Phc {
  const { n, r, p, salt, hash } = options;
  return { id: 'scrypt', params: { ln: Math.log2(Number(n)), r: Number(r), p: Number(p) }, salt, hash };
}

/** The alphabet of crypt(3), in which the low bits of three bytes come first. */
const ITOA64 = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function fromItoa64(text: string): Buffer {
  const bytes: number[] = [];
  for (let begin = 0; begin < text.length; begin += 4) {
    const digits = [...text.slice(begin, begin + 4)].map((digit) => ITOA64.indexOf(digit));
    const value = digits.reduceRight((higher, digit) => higher * 64 + digit, 0);
    for (let i = 0; i < digits.length - 1; i += 1) bytes.push((value >> (8 * i)) & 0xff);
  }
  return Buffer.from(bytes);
}
