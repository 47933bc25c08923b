import { type TSchema, Type } from 'typebox';

/** Deeper offsets make the database read and throw away everything before them. */
const MAX_OFFSET = 10_000;
export const PAGE_SIZE = { default: 20, max: 100 };

/** The query of a list that pages by offset. */
export const OffsetQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: PAGE_SIZE.max, default: PAGE_SIZE.default }),
  offset: Type.Integer({ minimum: 0, maximum: MAX_OFFSET, default: 0 }),
});

/** The offset envelope of profile A. */
export function OffsetEnvelope<T extends TSchema>(item: T) {
  return Type.Object({
    data: Type.Array(item),
    pagination: Type.Object({ limit: Type.Integer(), offset: Type.Integer(), total: Type.Integer() }),
  });
}
