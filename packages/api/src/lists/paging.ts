import type { Facets } from '@gatehouse/domain/list-query';
import { type TSchema, Type } from 'typebox';

/** At larger offsets, the database would read and discard too many rows. */
export const MAX_OFFSET = 10_000;
/** Rows per page. */
export const PAGE_SIZE = { default: 20, max: 100 };

/** The envelope of a list with offsets or page numbers. */
export type Envelope = {
  schema(item: TSchema): TSchema;
  paging: 'offset' | 'page' | 'cursor';
  /** Whether it includes the total; if not, `write` gets 0. */
  counts: boolean;
  /** The JSON text of a page; `rows` is the JSON text of the rows, separated by commas. */
  write(
    rows: string,
    about: { total: number; limit: number; offset: number; page: number; facets?: Facets | undefined },
  ): string;
};

const Count = (description: string) => Type.Integer({ minimum: 0, description });
const Total = Count('Rows in the whole list.');
const Limit = Type.Integer({ minimum: 1, maximum: PAGE_SIZE.max, description: 'Maximum rows per page.' });
const Page = Type.Integer({ minimum: 1, description: 'The page number, from 1.' });

/** The rows, without an envelope. */
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
        offset: Count('Rows before this page.'),
        total: Total,
      }),
    }),
  paging: 'offset',
  counts: true,
  write: (rows, { limit, offset, total }) => wrapped(rows, { pagination: { limit, offset, total } }),
};

const MetaWithPages = Type.Object({
  total: Total,
  limit: Limit,
  page: Page,
  pages: Count('Pages in the whole list.'),
});

/** The page envelope of profile B2, which includes the number of pages. */
export const pageEnvelopeWithPages: Envelope = {
  schema: (item) => Type.Object({ data: Type.Array(item), meta: MetaWithPages }),
  paging: 'page',
  counts: true,
  write: (rows, { total, limit, page }) =>
    wrapped(rows, { meta: { total, limit, page, pages: Math.ceil(total / limit) } }),
};

/** The same with the numbers of rows by the values of these fields. */
export function withFacets(fields: readonly string[]): Envelope {
  const Facet = Type.Array(Type.Object({ value: Type.String(), count: Count('Rows with this value.') }));
  const facets = Type.Object(Object.fromEntries(fields.map((field) => [field, Facet])));
  const none: Facets = Object.fromEntries(fields.map((field) => [field, []]));
  return {
    ...pageEnvelopeWithPages,
    schema: (item) => Type.Object({ data: Type.Array(item), meta: MetaWithPages, facets }),
    write: (rows, { facets: counted = none, ...about }) =>
      `${pageEnvelopeWithPages.write(rows, about).slice(0, -1)},"facets":${JSON.stringify(counted)}}`,
  };
}

/** The page envelope of profile G. */
export const pageEnvelope: Envelope = {
  schema: (item) =>
    Type.Object({ data: Type.Array(item), meta: Type.Object({ total: Total, page: Page, limit: Limit }) }),
  paging: 'page',
  counts: true,
  write: (rows, { total, page, limit }) => wrapped(rows, { meta: { total, page, limit } }),
};

/** The rows as `data`, and the properties of `about`. */
export function wrapped(rows: string, about: object): string {
  return `{"data":[${rows}],${JSON.stringify(about).slice(1)}`;
}

/** The cursor envelope, of every list requested with `cursor`. */
function cursorEnvelopeSchema(item: TSchema): TSchema {
  const link = (description: string) => Type.Optional(Type.String({ format: 'uri-reference', description }));
  return Type.Object({
    data: Type.Array(item),
    links: Type.Object({
      next: link('The next page, as a relative URL; absent at the end of the list.'),
      prev: link('The previous page, as a relative URL; absent at the beginning of the list.'),
    }),
    meta: Type.Object({
      totalItems: Count('Rows in the whole list, counted with its first page.'),
      itemsPerPage: Count('Rows in this response.'),
      currentPage: Type.Integer({ minimum: 1, description: 'The page number, from 1; informational.' }),
      hasNextPage: Type.Boolean(),
      hasPrevPage: Type.Boolean(),
    }),
  });
}

/** For a list that has the cursor envelope only, and neither offsets nor page numbers. */
export const cursorEnvelope: Envelope = {
  schema: cursorEnvelopeSchema,
  paging: 'cursor',
  counts: true,
  write() {
    throw new Error('a list with cursors only has no other pages');
  },
};
