import { upperCaseCodeBody } from '@gatehouse/api/http/error-bodies';
import { offsetEnvelope } from '@gatehouse/api/lists/paging';
import { requestBody } from '@gatehouse/api/resource/profile';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { Type } from 'typebox';
import { CurrentPasswordInput } from '../current-password.ts';
import {
  Email,
  EmailInput,
  Id,
  PasswordInput,
  Timestamp,
  UsernameInput,
  type UserProfile,
  userView,
} from './user-profile.ts';

const user = userView(
  'UserA',
  Type.Object({ id: Id, username: Type.String(), email: Email, createdAt: Timestamp, updatedAt: Timestamp }),
  ({ id, username, email, createdAt, updatedAt }) => ({
    id,
    username,
    email,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  }),
  ['id', 'username', 'email', 'createdAt', 'updatedAt'],
);

/** Profile A of the interface, /v1/users: camel case, offset envelope. */
export const profileA: UserProfile = {
  name: 'A',
  about: 'camel case, the list by offset',
  errorBody: upperCaseCodeBody,
  list: {
    rules: {
      paging: 'offset',
      filters: {
        id: { field: 'id', type: 'string' },
        username: { field: 'username', type: 'string' },
        email: { field: 'email', type: 'string' },
        createdAt: { field: 'createdAt', type: 'date' },
        updatedAt: { field: 'updatedAt', type: 'date' },
      },
      legacy: true,
    },
    envelope: offsetEnvelope,
    item: user,
  },
  create: {
    body: requestBody(
      'NewUserA',
      Type.Object({ username: UsernameInput, email: EmailInput, password: PasswordInput }),
      {
        example: { username: 'ann', email: 'ann@example.org', password: 'correct horse battery' },
        read: ({ username, email, password }) => ({ username, email, password }),
      },
    ),
    response: user,
    matches: (body) => Object.hasOwn(body, 'username'),
  },
  read: user,
  update: {
    method: 'PUT',
    body: requestBody(
      'UserChangesA',
      Type.Object({
        username: Type.Optional(UsernameInput),
        email: Type.Optional(EmailInput),
        current_password: Type.Optional(CurrentPasswordInput),
      }),
      {
        example: { email: 'ann@example.com' },
        read: ({ username, email, current_password: currentPassword }) =>
          omitUndefined({ username, email, currentPassword }),
      },
    ),
    response: user,
  },
  remove: true,
};
