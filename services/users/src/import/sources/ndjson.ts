import { splitLines } from '@gatehouse/api/http/lines';
import { bodyValidator } from '@gatehouse/api/http/schema';
import { Type } from 'typebox';
import { hashOf } from '../../hashes/hash-notations.ts';
import { Field, Flag, importedAccount, RECORD_LIMIT, type Source } from '../source.ts';

const read = bodyValidator(
  Type.Object({
    id: Field,
    username: Field,
    email: Field,
    email_verified: Flag,
    name: Field,
    first_name: Field,
    last_name: Field,
    role: Field,
    status: Field,
    created_at: Field,
    password_hash: Field,
  }),
);

/** Lines of JSON with the fields that users have here, and the password hash as its program writes it. */
export const ndjson: Source = {
  place: 'line',
  split: (file) => splitLines(file, RECORD_LIMIT),
  read(record) {
    const { email_verified, first_name, last_name, created_at, password_hash, ...user } = read(record);
    return importedAccount('ndjson', {
      ...{ id: user.id, username: user.username, email: user.email, name: user.name },
      ...{ role: user.role, status: user.status, emailVerified: email_verified },
      ...{ firstName: first_name, lastName: last_name, createdAt: created_at },
      passwordHash: password_hash ? hashOf(password_hash) : undefined,
    });
  },
};
