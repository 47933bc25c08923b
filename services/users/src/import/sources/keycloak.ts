import { parseJsonBody } from '@gatehouse/api/http/json-body';
import { ServiceError } from '@gatehouse/core/errors';
import { type Static, Type } from 'typebox';
import { pbkdf2Hash } from '../../hashes/hash-notations.ts';
import { badHash, bytesOf, type Phc } from '../../hashes/phc.ts';
import { Flag, recordValidator, type Source, Text } from '../source.ts';

const Credential = Type.Object({ type: Text, secretData: Text, credentialData: Text });
const readUser = recordValidator({
  enabled: Flag,
  serviceAccountClientId: Text,
  credentials: Type.Optional(Type.Array(Credential)),
});
const readSecret = recordValidator({ value: Type.String(), salt: Type.String() });
const readData = recordValidator({
  hashIterations: Type.Integer(),
  algorithm: Type.String(),
  additionalParameters: Type.Optional(Type.Record(Type.String(), Type.Array(Type.String()))),
});

/** `kc.sh export`: realms with their users (RealmRepresentation, UserRepresentation of the Admin REST API). */
export const keycloak: Source = {
  list: 'users',
  read(record) {
    const { enabled, credentials, serviceAccountClientId, ...user } = readUser(record);
    if (serviceAccountClientId)
      throw new ServiceError('invalid', 'This is the service account of a client, and no person.');
    const { id, username, email, emailVerified, firstName, lastName, createdTimestamp } = user;
    const password = credentials?.find(({ type }) => type === 'password');
    return {
      fields: {
        ...{ id, username, email, email_verified: emailVerified, first_name: firstName, last_name: lastName },
        ...{ status: enabled === false ? 'inactive' : 'active', created_at: createdTimestamp },
      },
      hash: password && hashOfCredential(password),
    };
  },
};

function readPart<T>(read: (part: unknown) => T, text: string | null | undefined): T {
  try {
    return read(parseJsonBody(Buffer.from(text ?? '')));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw badHash('is not in the form in which Keycloak exports it');
  }
}

/** Both parts of a credential are JSON in a text (PasswordSecretData, PasswordCredentialData). */
function hashOfCredential({ secretData, credentialData }: Static<typeof Credential>): Phc {
  const secret = readPart(readSecret, secretData);
  const { hashIterations, algorithm, additionalParameters: more = {} } = readPart(readData, credentialData);
  const [salt, hash] = [bytesOf(secret.salt, 'base64'), bytesOf(secret.value, 'base64')];
  if (algorithm === 'argon2') {
    const v = { '1.0': 16, '1.3': 19 }[more.version?.[0] ?? ''] ?? 0;
    const [m, p] = [Number(more.memory?.[0]), Number(more.parallelism?.[0])];
    return { id: `argon2${more.type?.[0]}`, params: { v, m, t: hashIterations, p }, salt, hash };
  }
  const [name, digest = 'sha1'] = algorithm.split('-');
  if (name !== 'pbkdf2') throw badHash('is of an algorithm that is not supported');
  return pbkdf2Hash(digest, hashIterations, salt, hash);
}
