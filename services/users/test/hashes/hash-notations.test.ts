import fc from 'fast-check';
import t from 'tap';
import { coversAll, memoryOf, storedHash, verifyHash } from '../../src/hashes/hash-formats.ts';
import { hashOf } from '../../src/hashes/hash-notations.ts';
import { VECTORS } from './vectors.ts';

for (const { from, password, hash } of VECTORS) {
  t.test(from, async (t) => {
    const stored = hashOf(hash);
    t.equal(await verifyHash(stored, password), true);
    t.equal(storedHash(stored), stored, 'what is stored is read as it is');
    const wrong = [
      '',
      password.slice(1),
      password.slice(0, -1),
      `${password} `,
      `${password}\0`,
      `\0${password}`,
      password.toUpperCase(),
      password.normalize('NFD').replace('a', 'b'),
      hash,
    ];
    for (const other of wrong.filter((it) => it !== password)) {
      t.equal(await verifyHash(stored, other), false, JSON.stringify(other));
    }
  });
}

t.test('no other password passes', async (t) => {
  // Those that cost little.
  const cheap = VECTORS.filter(({ hash }) => /^(?:\{SSHA|pbkdf2_|scrypt\$|\$2y|argon2\$|AAAB)/.test(hash));
  t.ok(cheap.length >= 7);
  const hashes = cheap.map(({ hash, password }) => ({ stored: hashOf(hash), password }));
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...hashes),
      fc.string({ unit: 'binary' }),
      async ({ stored, password }, other) => {
        if (other !== password) t.equal(await verifyHash(stored, other), false);
      },
    ),
    { numRuns: 300 },
  );
});

t.test('bcrypt reads 72 bytes of a password', async (t) => {
  const stored = hashOf('$2b$04$abcdefghijklmnopqrstuuQJgvyFBmAfZLhNEM1AB.IDPFYz/hfHe');
  t.equal(coversAll(stored, 'ä'.repeat(36)), true);
  t.equal(coversAll(stored, `${'ä'.repeat(36)}x`), false);
  t.equal(coversAll(hashOf('{SSHA}TGKsrHe8F6t6o8QlPKxeRv3hjfEgJGSs'), 'x'.repeat(300)), true);
});

const SALT = 'A'.repeat(22);
const HASH = 'A'.repeat(43);
/** Hashes that are refused, and why. */
const REFUSED: [hash: string, why: RegExp][] = [
  [`$argon2id$v=19$m=131073,t=1,p=1$${SALT}$${HASH}`, /m of argon2id of 131073: it must be from 8 to 131072/],
  [`$argon2id$v=19$m=4294967295,t=1,p=1$${SALT}$${HASH}`, /m of argon2id of 4294967295/],
  [`$argon2id$v=19$m=131072,t=5,p=1$${SALT}$${HASH}`, /takes too long to check/],
  [`$argon2id$v=19$m=8,t=65,p=1$${SALT}$${HASH}`, /t of argon2id of 65/],
  [`$argon2id$v=19$m=64,t=1,p=17$${SALT}$${HASH}`, /p of argon2id of 17/],
  [`$argon2id$v=20$m=64,t=1,p=1$${SALT}$${HASH}`, /v of argon2id of 20/],
  [`$argon2id$v=17$m=64,t=1,p=1$${SALT}$${HASH}`, /do not fit each other/],
  [`$argon2id$v=19$m=127,t=1,p=16$${SALT}$${HASH}`, /do not fit each other/],
  [`$scrypt$ln=16,r=1,p=1$${SALT}$${HASH}`, /do not fit each other/],
  [`$argon2id$m=64,t=1,p=1$${SALT}$${HASH}`, /lacks the parameter v/],
  [`$argon2id$v=19$m=64,t=1,p=1,keyid=1$${SALT}$${HASH}`, /has the unknown parameter keyid/],
  [`$argon2id$v=19$m=64,t=1,p=1$AAAA$${HASH}`, /a salt of argon2id, in bytes, of 3/],
  [`$argon2id$v=19$m=64,t=1,p=1$${SALT}$AAAA`, /a length of argon2id, in bytes, of 3/],
  [`$argon2d$v=19$m=64,t=1,p=1$${SALT}$${HASH}`, /not supported/],
  [
    '$2b$15$abcdefghijklmnopqrstuuKVUHa4WO.IMaCWz3e7IzInqs.jef.eG',
    /a cost of bcrypt of 15: it must be from 4 to 14/,
  ],
  ['$2b$31$abcdefghijklmnopqrstuuKVUHa4WO.IMaCWz3e7IzInqs.jef.eG', /a cost of bcrypt of 31/],
  ['$2x$05$abcdefghijklmnopqrstuuKVUHa4WO.IMaCWz3e7IzInqs.jef.eG', /not supported/],
  ['$2b$05$abcdefghijklmnopqrstuvKVUHa4WO.IMaCWz3e7IzInqs.jef.eG', /not supported/],
  ['$2b$05$abcdefghijklmnopqrstuuKVUHa4WO.IMaCWz3e7IzInqs.jef.e', /not supported/],
  [`$scrypt$ln=18,r=8,p=1$${SALT}$${HASH}`, /takes more than 128 MiB of memory/],
  [`$scrypt$ln=21,r=1,p=1$${SALT}$${HASH}`, /ln of scrypt of 21/],
  [`$scrypt$ln=17,r=8,p=5$${SALT}$${HASH}`, /takes too long to check/],
  [`$scrypt$ln=10,r=8,p=1$${'A'.repeat(172)}$${HASH}`, /a salt of scrypt, in bytes, of 129/],
  ['scrypt$1000$salt$8$1$AAAAAAAAAAAAAAAAAAAAAA==', /ln of scrypt of 9\.96/],
  ['scrypt:4294967296:8:1$salt$00000000000000000000000000000000', /ln of scrypt of 32/],
  [
    'pbkdf2_sha256$2147483648$salt$AAAAAAAAAAAAAAAAAAAAAA==',
    /i of pbkdf2-sha256 of 2147483648: it must be from 1 to 2000000/,
  ],
  ['pbkdf2_sha256$0$salt$AAAAAAAAAAAAAAAAAAAAAA==', /i of pbkdf2-sha256 of 0/],
  ['pbkdf2_sha256$1000$salt$AAAA', /a length of pbkdf2-sha256, in bytes, of 3/],
  ['pbkdf2_sha256$1000$salt$not base 64', /not valid Base64/],
  [`AQAAAAEA${'A'.repeat(78)}==`, /i of pbkdf2-sha256 of 0|a salt/],
  [`AQAAAAEf/////wAAABA${'A'.repeat(63)}==`, /i of pbkdf2-sha256/],
  [`AQAAAAkAAAPoAAAAEA${'A'.repeat(64)}==`, /PBKDF2 with another digest/],
  ['{SSHA}AAAAAAAAAAAAAAAAAAAAAAAAAAA=', /a salt of salted-sha1, in bytes, of 0/],
  ['{SSHA}AAAA', /a salt|a length/],
  ['{MD5}AAAAAAAAAAAAAAAAAAAAAA==', /not supported/],
  ['$P$ZTqEj6WU6YkbfMvWnYEBRWYNUF9rQc0', /ln of phpass of 37: it must be from 7 to 18/],
  ['5f4dcc3b5aa765d61d8327deb882cf99', /not supported/],
  ['$6$rounds=5000$salt$hash', /not supported/],
  ['__proto__', /not supported/],
  [`$constructor$${SALT}$${HASH}`, /not supported/],
  [`$phpass$ln=8,__proto__=1$${SALT}$${HASH}`, /not supported/],
  ['', /not supported/],
  ['x'.repeat(1_000_000), /not supported/],
];

t.test(
  'what costs too much, or is no hash, is refused, and its error shows neither salt nor hash',
  async (t) => {
    for (const [hash, why] of REFUSED) {
      const error = (() => {
        try {
          hashOf(hash);
        } catch (error) {
          return error as Error;
        }
      })();
      t.match(error?.message, why, hash.slice(0, 60));
      t.match(error, { kind: 'invalid' });
      t.notMatch(error?.message, /AAAA|\$\w+\$|abcdef/);
      t.ok((error?.message.length ?? 0) < 120);
    }
  },
);

t.test('the memory of a check', async (t) => {
  t.equal(memoryOf(`$argon2id$v=19$m=19456,t=2,p=1$${SALT}$${HASH}`), 19 * 1024 * 1024);
  t.equal(memoryOf(`$scrypt$ln=17,r=8,p=1$${SALT}$${HASH}`), 128 * 1024 * 1024);
  t.equal(memoryOf('$2b$05$abcdefghijklmnopqrstuuKVUHa4WO.IMaCWz3e7IzInqs.jef.eG'), 0);
});
