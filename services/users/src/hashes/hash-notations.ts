import { storedHash } from './hash-formats.ts';
import { badHash, bytesOf, type Phc } from './phc.ts';

/** The patterns of the parts of a notation that are not numbers. */
const PARTS: Readonly<Record<string, string>> = { digest: 'sha(?:1|256|512)', salt: '[^$]*', hash: '[^$]+' };

type Groups = Readonly<Record<string, string>>;

/** A notation of PBKDF2 or scrypt, whose parts are in angle brackets, with the encodings of its salt and hash. */
function notation(parts: string, saltEncoding: string, hashEncoding: string) {
  const pattern = parts
    .replaceAll('$', '\\$')
    .replace(/<(\w+)>/g, (_, name: string) => `(?<${name}>${PARTS[name] ?? '\\d{1,15}'})`);
  return {
    pattern: new RegExp(`^${pattern}$`),
    read({ digest = 'sha1', i, n, r, p, ...encoded }: Groups): Phc {
      const salt = bytesOf(encoded.salt ?? '', saltEncoding);
      const hash = bytesOf(encoded.hash ?? '', hashEncoding);
      if (n === undefined) return pbkdf2Hash(digest, Number(i), salt, hash);
      return { id: 'scrypt', params: { ln: Math.log2(Number(n)), r: Number(r), p: Number(p) }, salt, hash };
    },
  };
}

/** How other programs write hashes. `read` gets the groups of the pattern, and may throw `invalid`. */
const NOTATIONS: readonly { pattern: RegExp; read(groups: Groups): Phc }[] = [
  // Django (django.contrib.auth.hashers): the salt is text.
  notation('pbkdf2_<digest>$<i>$<salt>$<hash>', 'utf8', 'base64'),
  notation('scrypt$<n>$<salt>$<r>$<p>$<hash>', 'utf8', 'base64'),
  // Werkzeug (werkzeug.security).
  notation('pbkdf2:<digest>:<i>$<salt>$<hash>', 'utf8', 'hex'),
  notation('scrypt:<n>:<r>:<p>$<salt>$<hash>', 'utf8', 'hex'),
  // Passlib: no name before the rounds, and none of SHA-1.
  notation('$pbkdf2$<i>$<salt>$<hash>', 'base64', 'base64'),
  notation('$pbkdf2-<digest>$<i>$<salt>$<hash>', 'base64', 'base64'),
  // Auth0 names the length beside the rounds (https://auth0.com/docs/manage-users/user-migration/bulk-user-import-database-schema-and-examples).
  notation('$pbkdf2-<digest>$i=<i>,l=<l>$<salt>$<hash>', 'base64', 'base64'),
  {
    // LDAP (RFC 2307 §5.3): the digest, then the salt.
    pattern: /^\{SSHA(?<size>256|512|)\}(?<bytes>.+)$/i,
    read({ size, bytes = '' }) {
      const both = bytesOf(bytes, 'base64');
      const length = size ? Number(size) / 8 : 20;
      const [hash, salt] = [both.subarray(0, length), both.subarray(length)];
      return { id: `salted-sha${size || 1}`, params: {}, salt, hash };
    },
  },
  {
    // phpass: WordPress ($P$), phpBB ($H$). The last character has four bits of no meaning, which are 0.
    pattern: /^\$[PH]\$(?<ln>[./0-9A-Za-z])(?<salt>[./0-9A-Za-z]{8})(?<hash>[./0-9A-Za-z]{21}[./01])$/,
    read({ ln = '', salt = '', hash = '' }) {
      const number = [...hash].reduceRight((high, digit) => high * 64n + BigInt(ITOA64.indexOf(digit)), 0n);
      const bytes = Buffer.from(number.toString(16).padStart(32, '0'), 'hex').reverse();
      return { id: 'phpass', params: { ln: ITOA64.indexOf(ln) }, salt: Buffer.from(salt), hash: bytes };
    },
  },
  {
    // ASP.NET Core Identity (PasswordHasher): version 2 is 0, a salt of 16 bytes, and 1000 rounds of SHA-1.
    pattern: /^(?<bytes>AA[A-Za-z0-9+/]{64}==)$/,
    read({ bytes = '' }) {
      const all = bytesOf(bytes, 'base64');
      return pbkdf2Hash('sha1', 1000, all.subarray(1, 17), all.subarray(17));
    },
  },
  {
    // Version 3 is 1, and the digest, the rounds and the length of the salt as numbers of 32 bits.
    pattern: /^(?<bytes>AQAAAA[A-Za-z0-9+/]{40,400}={0,2})$/,
    read({ bytes = '' }) {
      const all = bytesOf(bytes, 'base64');
      const digest = ['sha1', 'sha256', 'sha512'][all.readUInt32BE(1)] ?? 'another digest';
      const end = 13 + all.readUInt32BE(9);
      return pbkdf2Hash(digest, all.readUInt32BE(5), all.subarray(13, end), all.subarray(end));
    },
  },
];

/** The alphabet of crypt(3), in which the low bits come first. */
const ITOA64 = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * The form in which a hash is stored, of one that another program has written. Throws `invalid` for one that no program here
 * writes, and for one whose check would cost too much.
 */
export function hashOf(text: string | Phc): string {
  if (typeof text !== 'string') return storedHash(text);
  for (const { pattern, read } of NOTATIONS) {
    const groups = pattern.exec(text)?.groups;
    if (groups !== undefined) return storedHash(read(groups));
  }
  // Django names argon2 twice.
  return storedHash(text.replace(/^argon2(?=\$argon2)/, ''));
}

/** PBKDF2 with an HMAC of this digest: sha1, sha256 or sha512. What exceeds a block of the digest is cut off. */
export function pbkdf2Hash(digest: string, iterations: number, salt: Buffer, hash: Buffer): Phc {
  const size = { sha1: 20, sha256: 32, sha512: 64 }[digest];
  if (size === undefined) throw badHash(`is PBKDF2 with ${digest}, which is not supported`);
  return { id: `pbkdf2-${digest}`, params: { i: iterations }, salt, hash: hash.subarray(0, size) };
}
