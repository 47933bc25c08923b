import type { TSchema } from 'typebox';
import { type Cursor, encodeCursor, listHash } from '../lists/cursor.ts';
import type { ListEndpoint } from '../lists/list-endpoint.ts';
import type { Shape } from '../openapi/operation.ts';
import type { ListProfile, RequestBody, ResourceTypes, View } from './profile.ts';

/** The shape of a view in the OpenAPI document. */
export function entityShape<T>({ name, schema, show }: View<T>, example: T): Shape {
  return { name, schema, example: show(example) };
}

/** The shape of a request body in the OpenAPI document. */
export function bodyShape({ name, schema, example }: RequestBody<unknown>): Shape {
  return { name, schema, example };
}

/** The shapes of a list's pages: in the envelope of the profile, and by cursor. */
export function listShapes<R extends ResourceTypes>(
  { envelope, item }: ListProfile<R>,
  { responses }: ListEndpoint<R['field'], R['entity']>,
  { prefix, example }: { prefix: string; example: R['entity'] },
): Shape[] {
  const parts = [entityShape(item, example)];
  const byCursor: Omit<Shape, 'schema'> = {
    name: `${item.name}CursorPage`,
    example: {
      data: [item.show(example)],
      links: { next: `${prefix}?limit=1&cursor=${encodeCursor(cursorAfter(example.id))}` },
      meta: { totalItems: 2, itemsPerPage: 1, currentPage: 1, hasNextPage: true, hasPrevPage: false },
    },
  };
  const plain = () => ({
    name: `${item.name}List`,
    example: JSON.parse(envelope.write(item.write(example), { total: 1, limit: 20, offset: 0, page: 1 })),
  });
  const shapes = envelope.paging === 'cursor' ? [byCursor] : [plain(), byCursor];
  return shapes.map((shape, i) => ({ ...shape, schema: responses[i] as TSchema, parts }));
}

/** The cursor after the first of two entities. */
function cursorAfter(id: string): Cursor {
  return {
    position: { value: null, id },
    direction: 'next',
    inclusive: false,
    page: 2,
    hash: listHash({ conditions: [], sort: { field: 'id', descending: false } }),
    total: 2,
  };
}
