import { type TSchema, Type } from 'typebox';

/** Deeper offsets make the database read and throw away everything before them. */
export const MAX_OFFSET = 10_000;
/** Rows of a page. */
export const PAGE_SIZE = { default: 20, max: 100 };

/** How a list that is counted by offset or page is wrapped. */
export type Envelope = {
  schema(item: TSchema): TSchema;
  paging: 'offset' | 'page' | 'cursor';
  /** Whether it tells the total, which is 0 in what `write` gets when it does not. */
  counts: boolean;
  /** The JSON text of a page; `rows` is that of the rows, separated by commas. */
  write(rows: string, about: { total: number; limit: number; offset: number; page: number }): string;
};

const Count = (description: string) => Type.Integer({ minimum: 0, description });
const Total = Count('Rows of the whole list.');
const Limit = Type.Integer({ minimum: 1, maximum: PAGE_SIZE.max, description: 'Most rows of a page.' });
const Page = Type.Integer({ minimum: 1, description: 'The number of this page, from 1.' });

/** The rows and nothing else. */
export const bareArray: Envelope = {
  schema: (item) => Type.Array(item),
  paging: 'offset',
  counts: false,
  write: (rows) => `[${rows}]`,
};

/** The offset envelope, of profile A. */
export const offsetEnvelope: Envelope = {
  schema: (item) =>
    Type.Object({
      data: Type.Array(item),
      pagination: Type.Object({
        limit: Limit,
        offset: Count('Rows of the list before this page.'),
        total: Total,
      }),
    }),
  paging: 'offset',
  counts: true,
  write: (rows, { limit, offset, total }) => wrapped(rows, { pagination: { limit, offset, total } }),
};

/** The page envelope of profile B2, which tells the number of pages, too. */
export const pageEnvelopeWithPages: Envelope = {
  schema: (item) =>
    Type.Object({
      data: Type.Array(item),
      meta: Type.Object({ total: Total, limit: Limit, page: Page, pages: Count('Pages of the whole list.') }),
    }),
  paging: 'page',
  counts: true,
  write: (rows, { total, limit, page }) =>
    wrapped(rows, { meta: { total, limit, page, pages: Math.ceil(total / limit) } }),
};

/** The page envelope of profile G. */
export const pageEnvelope: Envelope = {
  schema: (item) =>
    Type.Object({ data: Type.Array(item), meta: Type.Object({ total: Total, page: Page, limit: Limit }) }),
  paging: 'page',
  counts: true,
  write: (rows, { total, page, limit }) => wrapped(rows, { meta: { total, page, limit } }),
};

/** The rows as `data`, and beside them what is told of the page. */
export function wrapped(rows: string, about: object): string {
  return `{"data":[${rows}],${JSON.stringify(about).slice(1)}`;
}

/** The cursor envelope, of every list that is asked for with `cursor`. */
function cursorEnvelopeSchema(item: TSchema): TSchema {
  const link = (description: string) => Type.Optional(Type.String({ format: 'uri-reference', description }));
  return Type.Object({
    data: Type.Array(item),
    links: Type.Object({
      next: link('The page after this one, relative; absent at the end of the list.'),
      prev: link('The page before this one, relative; absent at the beginning of the list.'),
    }),
    meta: Type.Object({
      totalItems: Count('Rows of the whole list, counted when its first page was read.'),
      itemsPerPage: Count('Rows of this answer.'),
      currentPage: Type.Integer({ minimum: 1, description: 'Informational: which page this is, from 1.' }),
      hasNextPage: Type.Boolean(),
      hasPrevPage: Type.Boolean(),
    }),
  });
}

/** The cursor envelope as the only one of a list, which is then never counted by offset or page. */
export const cursorEnvelope: Envelope = {
  schema: cursorEnvelopeSchema,
  paging: 'cursor',
  counts: true,
  write() {
    throw new Error('a list that is paged by cursor has no other pages');
  },
};
