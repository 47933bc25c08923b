import { upperCaseCodeBody } from '@gatehouse/api/http/error-bodies';
import { pageEnvelope } from '@gatehouse/api/lists/paging';
import { requestBody } from '@gatehouse/api/resource/profile';
import { Type } from 'typebox';
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

const user = userView(
  'UserG',
  Type.Object({ id: Id, name: Type.String(), email: Email, created_at: Timestamp }),
  ({ id, name, email, createdAt }) => ({ id, name, email, created_at: createdAt.toISOString() }),
  ['id', 'name', 'email', 'createdAt'],
);

/** Profile G of the interface, /v1/users: snake case, the list by pages. */
export const profileG: UserProfile = {
  name: 'G',
  about: 'snake case, the list by page',
  errorBody: upperCaseCodeBody,
  list: {
    rules: {
      paging: 'page',
      filters: {
        id: { field: 'id', type: 'string' },
        email: { field: 'email', type: 'string' },
        created_at: { field: 'createdAt', type: 'date' },
      },
      legacy: true,
    },
    envelope: pageEnvelope,
    item: user,
  },
  create: {
    body: requestBody(
      'NewUserG',
      Type.Object({ name: NameInput, email: EmailInput, password: PasswordInput }),
      {
        example: { name: 'Ann Lee', email: 'ann@example.org', password: 'correct horse battery' },
        read: ({ name, email, password }) => ({ name, email, password }),
      },
    ),
    response: user,
    matches: hasNameOnly,
  },
};
