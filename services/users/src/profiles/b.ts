import { v2Body } from '@gatehouse/api/http/error-bodies';
import type { FilterFields } from '@gatehouse/api/lists/filters';
import { bareArray, pageEnvelopeWithPages } from '@gatehouse/api/lists/paging';
import { requestBody } from '@gatehouse/api/resource/profile';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { type Static, Type } from 'typebox';
import { CurrentPasswordInput } from '../current-password.ts';
import type { User, UserField } from '../user.ts';
import { USER_STATUSES } from '../user-fields.ts';
import {
  Email,
  EmailInput,
  Id,
  NamePartInput,
  PasswordInput,
  Status,
  Timestamp,
  UsernameInput,
  type UserProfile,
  userView,
} from './user-profile.ts';

const Name = Type.Unsafe<string | null>({ type: ['string', 'null'] });

const Item = { id: Id, username: Type.String(), email: Email, status: Status, created_at: Timestamp };
const ITEM_PROPERTIES = ['id', 'username', 'email', 'status', 'createdAt'] as const;
const showItem = ({
  id,
  username,
  email,
  status,
  createdAt,
}: Pick<User, (typeof ITEM_PROPERTIES)[number]>) => ({
  id,
  username,
  email,
  status,
  created_at: createdAt.toISOString(),
});

const detail = userView(
  'UserB',
  Type.Object({ ...Item, profile: Type.Object({ first_name: Name, last_name: Name }) }),
  (user) => ({ ...showItem(user), profile: { first_name: user.firstName, last_name: user.lastName } }),
);

const Names = Type.Object({
  first_name: Type.Optional(NamePartInput),
  last_name: Type.Optional(NamePartInput),
});
const namesOf = ({ first_name, last_name }: Static<typeof Names> = {}) =>
  omitUndefined({ firstName: first_name, lastName: last_name });

const FILTERS: FilterFields<UserField> = {
  id: { field: 'id', type: 'string' },
  username: { field: 'username', type: 'string' },
  email: { field: 'email', type: 'string' },
  status: { field: 'status', type: 'string', values: USER_STATUSES },
  created_at: { field: 'createdAt', type: 'date' },
};

/** Profile B1 of the interface, /v2/users: bare array by offset, and all operations on one user under /v2. */
export const profileB1: UserProfile = {
  name: 'B1',
  about: 'snake case with a status, the list as a bare array by offset',
  errorBody: v2Body,
  list: {
    rules: { paging: 'offset', filters: FILTERS, plain: ['status'] },
    envelope: bareArray,
    item: userView('UserB1', Type.Object(Item), showItem, ITEM_PROPERTIES),
  },
  create: {
    body: requestBody(
      'NewUserB',
      Type.Object({
        username: UsernameInput,
        email: EmailInput,
        password: PasswordInput,
        status: Type.Optional(Status),
        profile: Type.Optional(Names),
      }),
      {
        example: {
          username: 'ann',
          email: 'ann@example.org',
          password: 'correct horse battery',
          status: 'active',
          profile: { first_name: 'Ann', last_name: 'Lee' },
        },
        read: ({ username, email, password, status, profile }) => ({
          username,
          email,
          password,
          ...omitUndefined({
            status,
            firstName: profile?.first_name ?? undefined,
            lastName: profile?.last_name ?? undefined,
          }),
        }),
      },
    ),
    response: detail,
  },
  read: detail,
  update: {
    method: 'PUT',
    body: requestBody(
      'UserChangesB',
      Type.Object({
        username: Type.Optional(UsernameInput),
        email: Type.Optional(EmailInput),
        password: Type.Optional(PasswordInput),
        current_password: Type.Optional(CurrentPasswordInput),
        status: Type.Optional(Status),
        profile: Type.Optional(Names),
      }),
      {
        example: { status: 'inactive', profile: { last_name: 'Park' } },
        read: ({ username, email, password, current_password: currentPassword, status, profile }) => ({
          ...omitUndefined({ username, email, password, currentPassword, status }),
          ...namesOf(profile),
        }),
      },
    ),
    response: detail,
  },
  remove: true,
};

/** Profile B2 of the interface, /v2/users: the list by pages. */
export const profileB2: UserProfile = {
  name: 'B2',
  about: 'the list by page',
  errorBody: v2Body,
  list: {
    rules: { paging: 'page', filters: FILTERS, plain: ['status'] },
    envelope: pageEnvelopeWithPages,
    item: userView(
      'UserB2',
      Type.Object({ id: Id, email: Email, status: Status }),
      ({ id, email, status }) => ({
        id,
        email,
        status,
      }),
      ['id', 'email', 'status'],
    ),
  },
};
