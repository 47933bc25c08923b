import { splitLines } from '@gatehouse/api/http/lines';
import { bodyValidator } from '@gatehouse/api/http/schema';
import { isUserId } from '@gatehouse/core/ids';
import { type Static, Type } from 'typebox';
import { storedHash } from '../../hashes/hash-formats.ts';
import { hashOf, scryptHash } from '../../hashes/hash-notations.ts';
import { badHash, fromBase64 } from '../../hashes/phc.ts';
import { Field, Flag, importedAccount, RECORD_LIMIT, type Source } from '../source.ts';

const Encoded = Type.Object({ value: Type.String(), encoding: Field });
const Cost = Type.Optional(Type.Integer());
const CustomHash = Type.Object({
  algorithm: Type.String(),
  hash: Encoded,
  salt: Type.Optional(Encoded),
  password: Type.Optional(Type.Object({ encoding: Field })),
  cost: Cost,
  blockSize: Cost,
  parallelization: Cost,
});
const readUser = bodyValidator(
  Type.Object({
    user_id: Field,
    _id: Type.Optional(Type.Object({ $oid: Type.String() })),
    email: Field,
    email_verified: Flag,
    username: Field,
    name: Field,
    given_name: Field,
    family_name: Field,
    blocked: Flag,
    created_at: Field,
    passwordHash: Field,
    custom_password_hash: Type.Optional(CustomHash),
  }),
);

/** The prefix of accounts with a password; ids with another one are of accounts that sign in elsewhere. */
const DATABASE = 'auth0|';

/**
 * The lines of a user export and of the export of password hashes that Auth0 makes on request, or lines with the fields of both
 * (https://auth0.com/docs/manage-users/user-migration).
 */
export const auth0: Source = {
  place: 'line',
  split: (file) => splitLines(file, RECORD_LIMIT),
  read(record) {
    const { user_id, _id, passwordHash, custom_password_hash: custom, ...user } = readUser(record);
    const id = user_id || (_id && DATABASE + _id.$oid) || '';
    const withoutPrefix = id.startsWith(DATABASE) ? id.slice(DATABASE.length) : '';
    return importedAccount('auth0', {
      id: isUserId(withoutPrefix) ? withoutPrefix : id,
      ...{ username: user.username, email: user.email, emailVerified: user.email_verified },
      ...{ name: user.name, firstName: user.given_name, lastName: user.family_name },
      status: user.blocked === true ? 'inactive' : 'active',
      createdAt: user.created_at,
      passwordHash: passwordHash ? hashOf(passwordHash) : custom && hashOfCustom(custom),
    });
  },
};

function hashOfCustom(custom: Static<typeof CustomHash>): string {
  const { algorithm, hash, salt, password, cost = 16_384, blockSize = 8, parallelization = 1 } = custom;
  if ((password?.encoding ?? 'utf8') !== 'utf8') throw badHash('is of a password that is not in UTF-8');
  switch (algorithm) {
    case 'argon2':
    case 'bcrypt':
    case 'ldap':
    case 'pbkdf2':
      return hashOf(hash.value);
    case 'scrypt': {
      const encoded = { n: cost, r: blockSize, p: parallelization, hash: bytesOf(hash, 'hex') };
      return storedHash(scryptHash({ ...encoded, salt: bytesOf(salt ?? { value: '' }, 'utf8') }));
    }
    default:
      throw badHash('is of an algorithm that is not supported');
  }
}

function bytesOf({ value, encoding }: Static<typeof Encoded>, usual: 'hex' | 'utf8'): Buffer {
  switch (encoding ?? usual) {
    case 'utf8':
      return Buffer.from(value);
    case 'base64':
      return fromBase64(value);
    case 'hex':
      if (/^(?:[0-9a-f]{2})*$/i.test(value)) return Buffer.from(value, 'hex');
      throw badHash('is not valid hexadecimal');
    default:
      throw badHash('has an encoding that is not supported');
  }
}
