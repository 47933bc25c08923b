import { upperCaseCodeBody } from '@gatehouse/http/error-bodies';
import { Type } from 'typebox';
import { given } from '../given.ts';
import {
  body,
  Email,
  GivenEmail,
  GivenName,
  GivenPassword,
  Id,
  type Profile,
  Timestamp,
  view,
} from '../profile.ts';

/** Profile E of the interface, /v1/users: creates with a name, and changes with PATCH. */
export const profileE: Profile = {
  name: 'E',
  about: 'camel case, created with a name, changed with PATCH',
  errorBody: upperCaseCodeBody,
  create: {
    body: body('NewUserE', Type.Object({ email: GivenEmail, name: GivenName, password: GivenPassword }), {
      example: { email: 'ann@example.org', name: 'Ann Lee', password: 'correct horse battery' },
      read: ({ email, name, password }) => ({ email, name, password }),
    }),
    answer: view(
      'UserE',
      Type.Object({ id: Id, email: Email, name: Type.String(), createdAt: Timestamp }),
      ({ id, email, name, createdAt }) => ({ id, email, name, createdAt: createdAt.toISOString() }),
    ),
  },
  update: {
    method: 'PATCH',
    body: body(
      'UserChangesE',
      Type.Object({ name: Type.Optional(GivenName), email: Type.Optional(GivenEmail) }),
      {
        example: { name: 'Ann Park' },
        read: ({ name, email }) => given({ name, email }),
      },
    ),
    answer: view(
      'ChangedUserE',
      Type.Object({ id: Id, email: Email, name: Type.String(), updatedAt: Timestamp }),
      ({ id, email, name, updatedAt }) => ({ id, email, name, updatedAt: updatedAt.toISOString() }),
    ),
  },
  remove: true,
};
