import { settleAll } from '@gatehouse/data/settle-all';
import type { ListSource } from '@gatehouse/domain/list-query';
import type { TObject, TSchema } from 'typebox';
import { type Cursor, encodeCursor, listHash } from './cursor.ts';
import {
  adjacentPages,
  correctedTotal,
  correctedTotalAtOffset,
  keysetPage,
  startBeside,
} from './cursor-pagination.ts';
import { type Deprecation, deprecationHeaders } from './deprecation.ts';
import { listQuerySchema } from './list-query-schema.ts';
import { type ListRequest, type ListRules, listReader } from './list-request.ts';
import { cursorEnvelope, type Envelope, wrapped } from './paging.ts';

/** Runs work within a limit on how much is in flight (see createConcurrencyLimit in @gatehouse/api/http). */
export type Limited = <T>(work: () => Promise<T>) => Promise<T>;

/** How many rows of a stream are read at a time. */
export const STREAMED_ROWS = 100;

/** A list in one API profile. */
export type ListEndpoint<F extends string, T> = {
  /** The schema of the query, for OpenAPI; `reply` reads and validates the query itself. */
  query: TObject;
  /** The schemas of a response: in the profile's envelope, and in the cursor envelope if that is another. */
  responses: TSchema[];
  /**
   * The 200 response to a query: its headers and JSON text. `path` replaces the rules' path in links. `limited` runs the
   * reading of a list with conditions, whose cost depends on how many rows there are. Throws `invalid` with the invalid
   * parameters, and what the source and `limited` throw.
   */
  reply(
    query: unknown,
    source: ListSource<F, T>,
    options: { path?: string; limited: Limited },
  ): Promise<{ headers: Record<string, string>; text: string }>;
  /** Returns a function that reads the next rows after an id, of those that meet the filters. Throws `invalid` as `reply` does. */
  follow(query: unknown, source: ListSource<F, T>): (after: string) => Promise<T[]>;
};

/** Makes a list's endpoint from its rules, its envelope and the representation of a row. */
export function createListEndpoint<F extends string, T>(options: {
  /** The API profile, where several share a path: cursors carry it, so that following them stays in the profile. */
  profile?: string;
  rules: ListRules<F>;
  envelope: Envelope;
  item: { schema: TSchema; write(row: T): string; properties?: readonly string[] };
  deprecation?: Deprecation;
}): ListEndpoint<F, T> {
  const { profile, rules, envelope, item, deprecation } = options;
  const needed = item.properties === undefined ? {} : { properties: item.properties };
  const inProfile = profile === undefined ? {} : { profile };
  if (rules.paging !== envelope.paging) throw new Error(`${rules.path}: the envelope pages another way`);
  const read = listReader(rules);
  const envelopes = envelope.paging === 'cursor' ? [envelope] : [envelope, cursorEnvelope];
  const rowsOf = (rows: readonly T[]) => rows.map(item.write).join();

  async function byOffset(request: ListRequest<F>, source: ListSource<F, T>, path: string, offset: number) {
    const { limit, conditions, sort } = request;
    const [rows, counted] = await settleAll([
      source.byOffset({ conditions, sort, ...needed }, { limit, offset }),
      envelope.counts ? source.count(conditions) : undefined,
    ]);
    const page = Math.floor(offset / limit) + 1;
    const total = counted === undefined ? 0 : correctedTotalAtOffset(rows, counted, offset);
    const { facets } = rows;
    const text = envelope.write(rowsOf(rows.items), { total, limit, offset, page, facets });
    // A bare array has no place for a link to the next page, so that goes into a header.
    if (envelope.counts || !rows.hasNext || rows.last === undefined) return { text, links: [], rows };
    const next = { ...startBeside(rows.last, 'next'), page: page + 1, hash: listHash(request), ...inProfile };
    return { text, links: [`<${linkTo(path, request, next)}>; rel="next"`], rows };
  }

  async function byCursor(
    request: ListRequest<F>,
    source: ListSource<F, T>,
    path: string,
    cursor: Cursor | undefined,
  ) {
    const { limit, conditions, sort } = request;
    const [rows, counted] = await settleAll([
      source.byKeyset({ conditions, sort, ...needed }, keysetPage(limit, cursor)),
      cursor?.total ?? source.count(conditions),
    ]);
    const totalItems = correctedTotal(rows, counted);
    const state = { hash: cursor?.hash ?? listHash(request), total: totalItems, ...inProfile };
    const { page, next, previous } = adjacentPages(rows, cursor, state);
    const text = wrapped(rowsOf(rows.items), {
      links: {
        ...(next === undefined ? {} : { next: linkTo(path, request, next) }),
        ...(previous === undefined ? {} : { prev: linkTo(path, request, previous) }),
      },
      meta: {
        totalItems,
        itemsPerPage: rows.items.length,
        currentPage: page,
        hasNextPage: next !== undefined,
        hasPrevPage: previous !== undefined,
      },
    });
    return { text, links: [], rows };
  }

  return {
    query: listQuerySchema(rules),
    responses: envelopes.map(({ schema }) => schema(item.schema)),
    async reply(query, source, { path = rules.path, limited }) {
      const request = read(query);
      const { page } = request;
      const readPage = () =>
        page.kind === 'cursor'
          ? byCursor(request, source, path, page.cursor)
          : byOffset(request, source, path, page.offset);
      const { text, links, rows } = await (request.conditions.length > 0 ? limited(readPage) : readPage());
      const { link, ...headers } =
        deprecation !== undefined && request.deprecated ? deprecationHeaders(deprecation) : {};
      const allLinks = [...links, ...(link === undefined ? [] : [link])];
      const more = {
        ...(allLinks.length > 0 ? { link: allLinks.join(', ') } : {}),
        ...(rows.isIncomplete ? { 'incomplete-results': '?1' } : {}),
      };
      return { headers: { ...headers, ...more }, text };
    },
    follow(query, source) {
      const { conditions } = read(query);
      const id = 'id' as F;
      return async (after) => {
        const later = { field: id, operator: 'gt', values: [after] } as const;
        const request = { conditions: [...conditions, later], sort: { field: id, descending: false } };
        return (await source.byKeyset(request, { limit: STREAMED_ROWS })).items;
      };
    },
  };
}

/** The relative URL of a page of the same list. */
function linkTo(path: string, { linkParameters }: ListRequest<string>, cursor: Cursor): string {
  const query = new URLSearchParams(linkParameters);
  query.set('cursor', encodeCursor(cursor));
  return `${path}?${query}`;
}
