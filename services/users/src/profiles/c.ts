import { plainBody } from '@gatehouse/api/http/error-bodies';
import { bareArray } from '@gatehouse/api/lists/paging';
import { requestBody } from '@gatehouse/api/resource/profile';
import { Type } from 'typebox';
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
  'UserC',
  Type.Object({ id: Id, username: Type.String(), email: Email, created_at: Timestamp }),
  ({ id, username, email, createdAt }) => ({ id, username, email, created_at: createdAt.toISOString() }),
  ['id', 'username', 'email', 'createdAt'],
);

/** Profile C of the interface, /api/v1/users: snake case, bare array, errors as a string. */
export const profileC: UserProfile = {
  name: 'C',
  about: 'snake case, the list as a bare array, errors as a string',
  errorBody: plainBody,
  list: {
    rules: {
      paging: 'offset',
      filters: {
        id: { field: 'id', type: 'string' },
        username: { field: 'username', type: 'string' },
        email: { field: 'email', type: 'string' },
        created_at: { field: 'createdAt', type: 'date' },
      },
      legacy: true,
    },
    envelope: bareArray,
    item: user,
  },
  create: {
    body: requestBody(
      'NewUserC',
      Type.Object({ username: UsernameInput, email: EmailInput, password: PasswordInput }),
      {
        example: { username: 'ann', email: 'ann@example.org', password: 'correct horse battery' },
        read: ({ username, email, password }) => ({ username, email, password }),
      },
    ),
    response: userView('UserCreatedC', Type.Object({ id: Id, message: Type.String() }), ({ id }) => ({
      id,
      message: 'User created.',
    })),
  },
  read: user,
};
