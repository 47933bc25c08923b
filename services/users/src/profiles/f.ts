import { upperCaseCodeBody } from '@gatehouse/http/error-bodies';
import { bareArray } from '@gatehouse/http/paging';
import { Type } from 'typebox';
import { given } from '../given.ts';
import { body, Email, Id, type Profile, Timestamp, view } from '../profile.ts';
import { USER_ROLES, type UserRole } from '../user.ts';

const Role = Type.Unsafe<UserRole>({ type: 'string', enum: [...USER_ROLES] });

const user = view(
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
);

/** Profile F of the interface, /kb/api/v1/users: with roles, sorted as asked, a bare array. */
export const profileF: Profile = {
  name: 'F',
  errorBody: upperCaseCodeBody,
  list: {
    rules: {
      paging: 'offset',
      filters: {
        id: { field: 'id', type: 'string' },
        username: { field: 'username', type: 'string' },
        email: { field: 'email', type: 'string' },
        role: { field: 'role', type: 'string', values: USER_ROLES },
        createdAt: { field: 'createdAt', type: 'date' },
        updatedAt: { field: 'updatedAt', type: 'date' },
      },
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
    body: body(
      'NewUserF',
      Type.Object({
        username: Type.String(),
        email: Type.String(),
        password: Type.String(),
        role: Type.Optional(Role),
      }),
      {
        example: {
          username: 'ann',
          email: 'ann@example.org',
          password: 'correct horse battery',
          role: 'editor',
        },
        read: ({ username, email, password, role }) => ({ username, email, password, ...given({ role }) }),
      },
    ),
    answer: user,
  },
};
