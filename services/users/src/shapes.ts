import { type Cursor, encodeCursor, listHash } from '@gatehouse/lists/cursor';
import type { ListDialect } from '@gatehouse/lists/list-endpoint';
import type { Shape } from '@gatehouse/openapi/operation';
import type { Body, List, View } from './profile.ts';
import type { User, UserField } from './user.ts';

/** Somebody as examples show them. */
const ANN: User = {
  id: 'usr_06f2k1c8w0h3v5n7q9t1x3z5b7',
  username: 'ann',
  email: 'ann@example.org',
  emailVerified: true,
  name: 'Ann Lee',
  firstName: 'Ann',
  lastName: 'Lee',
  phone: null,
  picture: null,
  role: 'user',
  status: 'active',
  epoch: 0,
  signInEpoch: 0,
  version: 1,
  createdAt: new Date('2026-03-01T09:30:00Z'),
  updatedAt: new Date('2026-03-02T16:45:00Z'),
};

/** From her on, where she is the first of two. */
const AFTER_ANN: Cursor = {
  position: { value: null, id: ANN.id },
  direction: 'next',
  inclusive: false,
  page: 2,
  hash: listHash({ conditions: [], sort: { field: 'id', descending: false } }),
  total: 2,
};

/** How the description of the interface shows a user. */
export function userShape({ name, schema, show }: View): Shape {
  return { name, schema, example: show(ANN) };
}

export function bodyShape({ name, schema, example }: Body<unknown>): Shape {
  return { name, schema, example };
}

/** The pages of a list below a path: as the profile wraps them, and by cursor. */
export function listShapes(
  { envelope, item }: List,
  { answers }: ListDialect<UserField, User>,
  path: string,
): Shape[] {
  const [plain, byCursor] = answers;
  if (plain === undefined || byCursor === undefined) throw new Error('a list has two shapes');
  const data = [item.show(ANN)];
  const parts = [userShape(item)];
  return [
    {
      name: `${item.name}List`,
      schema: plain,
      example: envelope.write(data, { total: 1, limit: 20, offset: 0, page: 1 }),
      parts,
    },
    {
      name: `${item.name}CursorPage`,
      schema: byCursor,
      example: {
        data,
        links: { next: `${path}?limit=1&cursor=${encodeCursor(AFTER_ANN)}` },
        meta: { totalItems: 2, itemsPerPage: 1, currentPage: 1, hasNextPage: true, hasPrevPage: false },
      },
      parts,
    },
  ];
}
