import { ServiceError } from '@gatehouse/core/errors';
import { Type } from 'typebox';
import { badHash, bytesOf, type Phc } from '../../hashes/phc.ts';
import { Flag, recordValidator, type Source, Text } from '../source.ts';

const readUser = recordValidator({
  localId: Type.String(),
  disabled: Flag,
  createdAt: Text,
  passwordHash: Text,
  salt: Text,
});

/**
 * `firebase auth:export users.json`, with the text that the console shows under "Password hash parameters". What
 * scrypt-firebase is verified with (see hash-formats.ts) is the hash XOR the signer key.
 */
export function firebase(hashConfig: string): Source {
  const parameter = (name: string) => {
    const value = new RegExp(`\\b${name}"?\\s*:\\s*"?([\\w+/=-]+)`).exec(hashConfig)?.[1];
    if (value !== undefined) return value;
    const problem = `The hash parameters lack ${name}: copy all of them from the Firebase console.`;
    throw new ServiceError('invalid', problem);
  };
  if (parameter('algorithm') !== 'SCRYPT')
    throw new ServiceError('invalid', 'The algorithm of the hash parameters is not SCRYPT.');
  const signerKey = bytesOf(parameter('base64_signer_key'), 'base64');
  const saltSeparator = bytesOf(parameter('base64_salt_separator'), 'base64');
  const params = { ln: Number(parameter('mem_cost')), r: Number(parameter('rounds')), p: 1 };

  function hashOfUser(hash: Buffer, salt: Buffer): Phc {
    if (hash.length !== signerKey.length) throw badHash('is of another length than the signer key');
    const keyStream = Buffer.from(hash.map((byte, at) => byte ^ (signerKey[at] as number)));
    return { id: 'scrypt-firebase', params, salt: Buffer.concat([salt, saltSeparator]), hash: keyStream };
  }

  return {
    list: 'users',
    read(record) {
      const { localId: id, disabled, createdAt, passwordHash, salt, ...user } = readUser(record);
      const { email, emailVerified: email_verified, displayName: name } = user;
      return {
        fields: {
          ...{ id, email, email_verified, name, status: disabled === true ? 'inactive' : 'active' },
          created_at: createdAt ? Number(createdAt) : null,
        },
        hash: passwordHash && hashOfUser(bytesOf(passwordHash, 'base64'), bytesOf(salt ?? '', 'base64')),
      };
    },
  };
}
