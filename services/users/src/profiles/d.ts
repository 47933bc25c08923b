import { upperCaseCodeBody } from '@gatehouse/api/http/error-bodies';
import { bareArray } from '@gatehouse/api/lists/paging';
import { requestBody } from '@gatehouse/api/resource/profile';
import { Type } from 'typebox';
import { Email, Id, NameInput, type UserProfile, userView } from './user-profile.ts';

const item = userView(
  'UserD',
  Type.Object({ id: Id, name: Type.String() }),
  ({ id, name }) => ({ id, name }),
  ['id', 'name'],
);

/** Profile D of the interface, /users: people with only a name. */
export const profileD: UserProfile = {
  name: 'D',
  about: 'people with a name, the list as a bare array',
  errorBody: upperCaseCodeBody,
  list: {
    rules: { paging: 'offset', filters: { id: { field: 'id', type: 'string' } } },
    envelope: bareArray,
    item,
  },
  create: {
    body: requestBody('NewUserD', Type.Object({ name: NameInput }), {
      example: { name: 'Ann Lee' },
      read: ({ name }) => ({ name }),
    }),
    response: item,
  },
  read: userView(
    'UserDetailD',
    Type.Object({ id: Id, name: Type.String(), email: Email }),
    ({ id, name, email }) => ({
      id,
      name,
      email,
    }),
  ),
};
