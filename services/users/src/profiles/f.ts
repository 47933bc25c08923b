import { upperCaseCodeBody } from '@gatehouse/api/http/error-bodies';
import { bareArray } from '@gatehouse/api/lists/paging';
import { requestBody } from '@gatehouse/api/resource/profile';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { Type } from 'typebox';
import { USER_ROLES, USER_STATUSES } from '../user-fields.ts';
import {
  Email,
  EmailInput,
  Id,
  PasswordInput,
  Role,
  Timestamp,
  UsernameInput,
  type UserProfile,
  userView,
} from './user-profile.ts';

const user = userView(
  'UserF',
  Type.Object({
    id: Id,
    username: Type.String(),
    email: Email,
    role: Role,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  }),
  ({ id, username, email, role, createdAt, updatedAt }) => ({
    id,
    username,
    email,
    role,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  }),
  ['id', 'username', 'email', 'role', 'createdAt', 'updatedAt'],
);

/** Profile F of the interface, /kb/api/v1/users: with roles, sorted as asked, a bare array. */
export const profileF: UserProfile = {
  name: 'F',
  about: 'camel case with roles, the list sorted as asked and as a bare array',
  errorBody: upperCaseCodeBody,
  list: {
    rules: {
      paging: 'offset',
      filters: {
        id: { field: 'id', type: 'string' },
        username: { field: 'username', type: 'string' },
        email: { field: 'email', type: 'string' },
        role: { field: 'role', type: 'string', values: USER_ROLES },
        status: { field: 'status', type: 'string', values: USER_STATUSES },
        q: { field: 'text', type: 'string', operators: ['eq'] },
        createdAt: { field: 'createdAt', type: 'date' },
        updatedAt: { field: 'updatedAt', type: 'date' },
      },
      plain: ['q'],
      sort: {
        by: 'sortBy',
        order: 'sortOrder',
        fields: {
          id: 'id',
          username: 'username',
          email: 'email',
          role: 'role',
          createdAt: 'createdAt',
          updatedAt: 'updatedAt',
        },
      },
    },
    envelope: bareArray,
    item: user,
  },
  create: {
    body: requestBody(
      'NewUserF',
      Type.Object({
        username: UsernameInput,
        email: EmailInput,
        password: PasswordInput,
        role: Type.Optional(Role),
      }),
      {
        example: {
          username: 'ann',
          email: 'ann@example.org',
          password: 'correct horse battery',
          role: 'editor',
        },
        read: ({ username, email, password, role }) => ({
          username,
          email,
          password,
          ...omitUndefined({ role }),
        }),
      },
    ),
    response: user,
  },
};
