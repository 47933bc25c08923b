import { createHash, pbkdf2Sync, randomUUID, scryptSync } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { hash as argon2 } from '@node-rs/argon2';
import { hash as bcrypt } from '@node-rs/bcrypt';
import { VECTORS } from '../hashes/vectors.ts';
import { FIXTURES } from './import-set-up.ts';

type Identity = { n: number; email: string; username: string; first: string; last: string };
/** A hash as an export has it, and its password. */
type Kind = { name: string; password: string; fields: object };
export type LargeExport = { from: string; args: string[]; accounts: { username: string; kind: Kind }[] };

const PASSWORD = 'a pässword of many';
const SALT = Buffer.from('sixteen bytes ..');
const FIRST = ['Ada', 'Bela', 'Chandra', 'Dmitri', 'Eleonora', 'Francesca', 'Gül', 'Hiro'];
const LAST = ['Lovelace', 'Kiss', 'Rao', 'Ivanov', 'Montgomery', 'Oliveira', 'Şahin', 'Tanaka'];

function keycloakCredential(algorithm: string, hashIterations: number, value: Buffer, more: object = {}) {
  const secretData = JSON.stringify({ value: value.toString('base64'), salt: SALT.toString('base64') });
  const credentialData = JSON.stringify({ hashIterations, algorithm, additionalParameters: more });
  return { credentials: [{ type: 'password', createdDate: 1700000000000, secretData, credentialData }] };
}

/** One hash of each kind, at the cost that its program has by default; thousands of accounts share them. */
async function kinds(): Promise<Record<string, Kind[]>> {
  const pbkdf2 = (digest: string, rounds: number) => pbkdf2Sync(PASSWORD, SALT, rounds, 64, digest);
  const own = await argon2(PASSWORD, { salt: SALT, memoryCost: 7168, timeCost: 5, parallelism: 1 });
  const ofArgon2 = Buffer.from(own.split('$').at(-1) ?? '', 'base64');
  const argon2More = {
    type: ['id'],
    version: ['1.3'],
    memory: ['7168'],
    parallelism: ['1'],
    hashLength: ['32'],
  };
  const ssha = createHash('sha256').update(PASSWORD).update(SALT).digest();
  const custom = (algorithm: string, value: string, more: object = {}) => ({
    custom_password_hash: {
      algorithm,
      hash: { value, encoding: algorithm === 'scrypt' ? 'hex' : 'utf8' },
      ...more,
    },
  });
  const kind = (name: string, fields: object, password = PASSWORD) => ({ name, password, fields });
  return {
    keycloak: [
      kind('Keycloak PBKDF2-SHA256', keycloakCredential('pbkdf2-sha256', 27_500, pbkdf2('sha256', 27_500))),
      kind('Keycloak PBKDF2-SHA512', keycloakCredential('pbkdf2-sha512', 210_000, pbkdf2('sha512', 210_000))),
      kind('Keycloak argon2id', keycloakCredential('argon2', 5, ofArgon2, argon2More)),
    ],
    auth0: [
      kind('Auth0 bcrypt', { passwordHash: await bcrypt(PASSWORD, 10) }),
      kind('Auth0 LDAP', custom('ldap', `{SSHA256}${Buffer.concat([ssha, SALT]).toString('base64')}`)),
      kind('Auth0 scrypt', {
        ...custom('scrypt', scryptSync(PASSWORD, SALT, 64).toString('hex'), {
          salt: { value: SALT.toString() },
        }),
      }),
      kind('Auth0 argon2id', custom('argon2', own)),
    ],
    firebase: [
      kind(
        'Firebase scrypt',
        {
          salt: '42xEC+ixf3L2lw==',
          passwordHash:
            'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==',
        },
        'user1password',
      ),
    ],
    ndjson: VECTORS.map(({ from, hash, password }) => kind(from, { password_hash: hash }, password)),
  };
}

const WRITERS: Record<string, (it: Identity, fields: object) => object> = {
  keycloak: ({ n, email, username, first, last }, fields) => ({
    ...{ id: randomUUID(), username, email, emailVerified: true, firstName: first, lastName: last },
    ...{ enabled: true, createdTimestamp: 1_600_000_000_000 + n, totp: false, ...fields },
    ...{ disableableCredentialTypes: [], requiredActions: [], realmRoles: ['default-roles-shop'] },
    ...{ attributes: { locale: ['en'] }, notBefore: 0, groups: ['/customers'] },
  }),
  auth0: ({ n, email, username, first, last }, fields) => ({
    ...{ _id: { $oid: `6042${n.toString(16).padStart(20, '0')}` }, email, email_verified: true, username },
    ...{ given_name: first, family_name: last, tenant: 'shop', connection: 'Users', ...fields },
  }),
  firebase: ({ n, email, first, last }, fields) => ({
    ...{
      localId: createHash('sha256').update(email).digest('base64url').replace(/[-_]/g, 'x').slice(0, 28),
      email,
    },
    ...{
      emailVerified: true,
      displayName: `${first} ${last}`,
      createdAt: String(1_650_000_000_000 + n),
      ...fields,
    },
    ...{ lastSignedInAt: '1700000000000', providerUserInfo: [] },
  }),
  ndjson: ({ n, email, username, first, last }, fields) => ({
    ...{ id: `u-${String(n).padStart(20, '0')}`, username, email, email_verified: true },
    ...{ first_name: first, last_name: last, ...fields },
  }),
};

/** Writes an export of each program with so many accounts in all, and returns how they are imported. */
export async function writeExports(directory: string, total: number): Promise<LargeExport[]> {
  const hashes = Object.entries(await kinds());
  const exports: LargeExport[] = [];
  for (const [at, [from, ofProgram]] of hashes.entries()) {
    const path = join(directory, `${from}.export`);
    const isList = from === 'keycloak' || from === 'firebase';
    const file = createWriteStream(path);
    const accounts: LargeExport['accounts'] = [];
    if (isList) file.write('{"realm":"shop","users":[');
    for (let i = 0; i < total / hashes.length; i += 1) {
      const n = i * hashes.length + at;
      const kind = ofProgram[i % ofProgram.length] as Kind;
      const [first = '', last = ''] = [FIRST[n % 8], LAST[Math.floor(n / 8) % 8]];
      const username = `${first}.${last}.${n}`.toLowerCase().replace('ü', 'u').replace('ş', 's');
      const identity = { n, first, last, username, email: `${username}@shop${n % 40}.example.org` };
      const text = JSON.stringify(WRITERS[from]?.(identity, kind.fields));
      accounts.push({ username, kind });
      if (!file.write(isList ? `${i === 0 ? '' : ','}\n${text}` : `${text}\n`)) await once(file, 'drain');
    }
    file.end(isList ? ']}' : '');
    await once(file, 'close');
    const config = from === 'firebase' ? ['--hash-config', join(FIXTURES, 'firebase-parameters.txt')] : [];
    exports.push({ from, args: ['--from', from, ...config, path], accounts });
  }
  return exports;
}
