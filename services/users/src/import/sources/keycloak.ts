import { parseJsonBody } from '@gatehouse/api/http/json-body';
import { bodyValidator } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import { type Static, Type } from 'typebox';
import { storedHash } from '../../hashes/hash-formats.ts';
import { pbkdf2Hash } from '../../hashes/hash-notations.ts';
import { badHash, fromBase64, type Phc } from '../../hashes/phc.ts';
import { jsonElements } from '../json-elements.ts';
import { Field, Flag, importedAccount, RECORD_LIMIT, type Source } from '../source.ts';

const Credential = Type.Object({ type: Field, secretData: Field, credentialData: Field });
const readUser = bodyValidator(
  Type.Object({
    id: Field,
    username: Field,
    email: Field,
    emailVerified: Flag,
    firstName: Field,
    lastName: Field,
    enabled: Flag,
    createdTimestamp: Type.Optional(Type.Integer()),
    serviceAccountClientId: Field,
    credentials: Type.Optional(Type.Array(Credential)),
  }),
);
const readSecret = bodyValidator(Type.Object({ value: Type.String(), salt: Type.String() }));
const readData = bodyValidator(
  Type.Object({
    hashIterations: Type.Integer(),
    algorithm: Type.String(),
    additionalParameters: Type.Optional(Type.Record(Type.String(), Type.Array(Type.String()))),
  }),
);

/** `kc.sh export`: realms with their users (RealmRepresentation, UserRepresentation of the Admin REST API). */
export const keycloak: Source = {
  place: 'index',
  split: (file) => jsonElements(file, { name: 'users', limit: RECORD_LIMIT }),
  read(record) {
    const { enabled, createdTimestamp, credentials, serviceAccountClientId, ...user } = readUser(record);
    if (serviceAccountClientId)
      throw new ServiceError('invalid', 'This is the service account of a client, and no person.');
    const password = credentials?.find(({ type }) => type === 'password');
    return importedAccount('keycloak', {
      ...{ id: user.id, username: user.username, email: user.email, emailVerified: user.emailVerified },
      ...{ firstName: user.firstName, lastName: user.lastName },
      status: enabled === false ? 'inactive' : 'active',
      createdAt: createdTimestamp,
      passwordHash: password && storedHash(hashOfCredential(password)),
    });
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
  const { hashIterations, algorithm, additionalParameters } = readPart(readData, credentialData);
  const [salt, hash] = [fromBase64(secret.salt), fromBase64(secret.value)];
  if (algorithm === 'argon2') {
    const [type, version, memory, parallelism] = ['type', 'version', 'memory', 'parallelism'].map(
      (name) => additionalParameters?.[name]?.[0] ?? '',
    );
    const v = { '1.0': 16, '1.3': 19 }[version ?? ''] ?? 0;
    return {
      id: `argon2${type}`,
      params: { v, m: Number(memory), t: hashIterations, p: Number(parallelism) },
      ...{ salt, hash },
    };
  }
  const [name, digest = 'sha1'] = algorithm.split('-');
  if (name !== 'pbkdf2') throw badHash('is of an algorithm that is not supported');
  return pbkdf2Hash({ digest, iterations: hashIterations, salt, hash });
}
