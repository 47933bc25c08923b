import { upperCaseCodeBody } from '@gatehouse/http/error-bodies';
import { OffsetEnvelope, OffsetQuery } from '@gatehouse/http/paging';
import { Type } from 'typebox';
import { body, offsetList, type Profile, view } from '../profile.ts';
import type { User } from '../user.ts';

const UserA = Type.Object({
  id: Type.String(),
  username: Type.String(),
  email: Type.Union([Type.String(), Type.Null()]),
  createdAt: Type.String({ format: 'date-time' }),
  updatedAt: Type.String({ format: 'date-time' }),
});

const show = ({ id, username, email, createdAt, updatedAt }: User) => ({
  id,
  username,
  email,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
});

const CreateA = Type.Object({ username: Type.String(), email: Type.String(), password: Type.String() });
const UpdateA = Type.Object({
  username: Type.Optional(Type.String()),
  email: Type.Optional(Type.String()),
});

/** Profile A of the interface, /v1/users: offset envelope, camel case. */
export const profileA: Profile = {
  name: 'A',
  prefix: '/v1/users',
  errorBody: upperCaseCodeBody,
  list: offsetList(OffsetQuery, OffsetEnvelope(UserA), ({ users, total }, { limit, offset }) => ({
    data: users.map(show),
    pagination: { limit, offset, total },
  })),
  create: {
    draft: body(CreateA, ({ username, email, password }) => ({ username, email, password })),
    reply: view(UserA, show),
  },
  read: { reply: view(UserA, show) },
  update: {
    method: 'PUT',
    changes: body(UpdateA, ({ username, email }) => ({
      ...(username === undefined ? {} : { username }),
      ...(email === undefined ? {} : { email }),
    })),
    reply: view(UserA, show),
  },
  remove: true,
};
