import { bodyValidator } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import { Type } from 'typebox';
import { storedHash } from '../../hashes/hash-formats.ts';
import { badHash, fromBase64 } from '../../hashes/phc.ts';
import { jsonElements } from '../json-elements.ts';
import { Field, Flag, importedAccount, RECORD_LIMIT, type Source } from '../source.ts';

const readUser = bodyValidator(
  Type.Object({
    localId: Type.String(),
    email: Field,
    emailVerified: Flag,
    displayName: Field,
    disabled: Flag,
    createdAt: Field,
    passwordHash: Field,
    salt: Field,
  }),
);

/** The password hash parameters of a project. */
type HashConfig = { signerKey: Buffer; saltSeparator: Buffer; rounds: number; memCost: number };

/** `firebase auth:export users.json`, with the text that the console shows under "Password hash parameters". */
export function firebase(hashConfig: string): Source {
  const config = readHashConfig(hashConfig);
  return {
    place: 'index',
    split: (file) => jsonElements(file, { name: 'users', limit: RECORD_LIMIT }),
    read(record) {
      const { localId: id, passwordHash, salt, createdAt, ...user } = readUser(record);
      return importedAccount('firebase', {
        ...{ id, email: user.email, emailVerified: user.emailVerified, name: user.displayName },
        status: user.disabled === true ? 'inactive' : 'active',
        createdAt: createdAt ? Number(createdAt) : undefined,
        passwordHash: passwordHash
          ? hashOfUser(config, fromEither(passwordHash), fromEither(salt ?? ''))
          : undefined,
      });
    },
  };
}

/** Stores what scrypt-firebase is verified with: see hash-formats.ts. */
function hashOfUser(
  { signerKey, saltSeparator, rounds, memCost }: HashConfig,
  hash: Buffer,
  salt: Buffer,
): string {
  if (hash.length !== signerKey.length) throw badHash('is of another length than the signer key');
  const keyStream = hash.map((byte, at) => byte ^ (signerKey[at] as number));
  return storedHash({
    id: 'scrypt-firebase',
    params: { ln: memCost, r: rounds, p: 1 },
    salt: Buffer.concat([salt, saltSeparator]),
    hash: Buffer.from(keyStream),
  });
}

function readHashConfig(text: string): HashConfig {
  const parameter = (name: string) => {
    const value = new RegExp(`\\b${name}"?\\s*:\\s*"?([\\w+/=-]+)`).exec(text)?.[1];
    if (value === undefined)
      throw new ServiceError(
        'invalid',
        `The hash parameters lack ${name}: copy all of them from the Firebase console.`,
      );
    return value;
  };
  if (parameter('algorithm') !== 'SCRYPT')
    throw new ServiceError('invalid', 'The algorithm of the hash parameters is not SCRYPT.');
  return {
    signerKey: fromEither(parameter('base64_signer_key')),
    saltSeparator: fromEither(parameter('base64_salt_separator')),
    rounds: Number(parameter('rounds')),
    memCost: Number(parameter('mem_cost')),
  };
}

/** Base64 in either alphabet (RFC 4648 §4, §5). */
const fromEither = (text: string) => fromBase64(text.replaceAll('-', '+').replaceAll('_', '/'));
