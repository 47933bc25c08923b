import { isUserId } from '@gatehouse/core/ids';
import { type Static, Type } from 'typebox';
import { badHash, bytesOf, type Phc } from '../../hashes/phc.ts';
import { Flag, recordValidator, type Source, Text } from '../source.ts';

const Encoded = Type.Object({ value: Type.String(), encoding: Text });
const Cost = Type.Optional(Type.Integer());
const CustomHash = Type.Object({
  algorithm: Type.String(),
  hash: Encoded,
  salt: Type.Optional(Encoded),
  password: Type.Optional(Type.Object({ encoding: Text })),
  cost: Cost,
  blockSize: Cost,
  parallelization: Cost,
});
const readUser = recordValidator({
  user_id: Text,
  _id: Type.Optional(Type.Object({ $oid: Type.String() })),
  blocked: Flag,
  passwordHash: Text,
  custom_password_hash: Type.Optional(CustomHash),
});

/** The prefix of accounts with a password; ids with another one are of accounts that sign in elsewhere. */
const DATABASE = 'auth0|';

/**
 * The lines of a user export and of the export of password hashes that Auth0 makes on request, or lines with the fields of both
 * (https://auth0.com/docs/manage-users/user-migration).
 */
export const auth0: Source = {
  read(record) {
    const { user_id, _id, blocked, passwordHash, custom_password_hash: custom, ...user } = readUser(record);
    const { username, email, email_verified, name, given_name, family_name, created_at } = user;
    const id = user_id || (_id && DATABASE + _id.$oid) || '';
    const withoutPrefix = id.startsWith(DATABASE) ? id.slice(DATABASE.length) : '';
    return {
      fields: {
        ...{ id: isUserId(withoutPrefix) ? withoutPrefix : id, username, email, email_verified, name },
        ...{ first_name: given_name, last_name: family_name, created_at },
        status: blocked === true ? 'inactive' : 'active',
      },
      hash: passwordHash || (custom && hashOfCustom(custom)),
    };
  },
};

function hashOfCustom(custom: Static<typeof CustomHash>): string | Phc {
  const { algorithm, hash, salt, password, cost = 16_384, blockSize: r = 8, parallelization: p = 1 } = custom;
  if ((password?.encoding ?? 'utf8') !== 'utf8') throw badHash('is of a password that is not in UTF-8');
  if (['argon2', 'bcrypt', 'ldap', 'pbkdf2'].includes(algorithm)) return hash.value;
  if (algorithm !== 'scrypt') throw badHash('is of an algorithm that is not supported');
  return {
    id: 'scrypt',
    params: { ln: Math.log2(cost), r, p },
    salt: bytesOf(salt?.value ?? '', salt?.encoding ?? 'utf8'),
    hash: bytesOf(hash.value, hash.encoding ?? 'hex'),
  };
}
