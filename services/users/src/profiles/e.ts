import { upperCaseCodeBody } from '@gatehouse/api/http/error-bodies';
import { requestBody } from '@gatehouse/api/resource/profile';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { Type } from 'typebox';
import { CurrentPasswordInput } from '../current-password.ts';
import {
  Email,
  EmailInput,
  hasNameOnly,
  Id,
  NameInput,
  PasswordInput,
  Timestamp,
  type UserProfile,
  userView,
} from './user-profile.ts';

/** Profile E of the interface, /v1/users: creates with a name, and changes with PATCH. */
export const profileE: UserProfile = {
  name: 'E',
  about: 'camel case, created with a name, changed with PATCH',
  errorBody: upperCaseCodeBody,
  create: {
    body: requestBody(
      'NewUserE',
      Type.Object({ email: EmailInput, name: NameInput, password: PasswordInput }),
      {
        example: { email: 'ann@example.org', name: 'Ann Lee', password: 'correct horse battery' },
        read: ({ email, name, password }) => ({ email, name, password }),
      },
    ),
    response: userView(
      'UserE',
      Type.Object({ id: Id, email: Email, name: Type.String(), createdAt: Timestamp }),
      ({ id, email, name, createdAt }) => ({ id, email, name, createdAt: createdAt.toISOString() }),
    ),
    matches: hasNameOnly,
  },
  update: {
    method: 'PATCH',
    body: requestBody(
      'UserChangesE',
      Type.Object({
        name: Type.Optional(NameInput),
        email: Type.Optional(EmailInput),
        current_password: Type.Optional(CurrentPasswordInput),
      }),
      {
        example: { name: 'Ann Park' },
        read: ({ name, email, current_password: currentPassword }) =>
          omitUndefined({ name, email, currentPassword }),
      },
    ),
    response: userView(
      'ChangedUserE',
      Type.Object({ id: Id, email: Email, name: Type.String(), updatedAt: Timestamp }),
      ({ id, email, name, updatedAt }) => ({ id, email, name, updatedAt: updatedAt.toISOString() }),
    ),
  },
  remove: true,
};
