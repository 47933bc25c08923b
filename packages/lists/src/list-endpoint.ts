import type { ListSource } from '@gatehouse/kit/list-query';
import type { TObject, TSchema } from 'typebox';
import { type Cursor, encodeCursor, listHash } from './cursor.ts';
import { beside, keysetPage, neighbours, totalAfter, totalBeside } from './cursor-pages.ts';
import { type Deprecation, deprecationHeaders } from './deprecation.ts';
import { type ListRequest, type ListRules, listQuerySchema, listReader } from './list-request.ts';
import { cursorEnvelope, type Envelope, wrapped } from './paging.ts';

/** One list as one API profile speaks of it. */
export type ListDialect<F extends string, T> = {
  /** Of the query, for the description of the interface; `reply` reads and checks by itself. */
  query: TObject;
  /** The shapes of an answer: the profile's envelope and, unless it is that, the cursor envelope of the same items. */
  answers: TSchema[];
  /**
   * The 200 answer to a query: headers and JSON text. `path` replaces the rules' path in links. Throws `invalid`
   * with the parameters at fault, and whatever the source throws.
   */
  reply(
    query: unknown,
    source: ListSource<F, T>,
    path?: string,
  ): Promise<{ headers: Record<string, string>; text: string }>;
};

/** Makes a list out of its rules, its envelope and how one row is shown. */
export function listDialect<F extends string, T>(options: {
  /** Where several dialects share a path: its cursors carry the name, so that whoever follows them stays in it. */
  name?: string;
  rules: ListRules<F>;
  envelope: Envelope;
  item: { schema: TSchema; write(row: T): string };
  deprecation?: Deprecation;
}): ListDialect<F, T> {
  const { name, rules, envelope, item, deprecation } = options;
  const named = name === undefined ? {} : { dialect: name };
  if (rules.paging !== envelope.paging) throw new Error(`${rules.path}: the envelope pages another way`);
  const read = listReader(rules);
  const envelopes = envelope.paging === 'cursor' ? [envelope] : [envelope, cursorEnvelope];
  const rowsOf = (rows: readonly T[]) => rows.map(item.write).join();

  async function byOffset(request: ListRequest<F>, source: ListSource<F, T>, path: string, offset: number) {
    const { limit, conditions, sort } = request;
    const [rows, counted] = await Promise.all([
      source.byOffset({ conditions, sort }, { limit, offset }),
      envelope.counts ? source.count(conditions) : undefined,
    ]);
    const page = Math.floor(offset / limit) + 1;
    const total = counted === undefined ? 0 : totalAfter(rows, counted, offset);
    const text = envelope.write(rowsOf(rows.items), { total, limit, offset, page });
    // An array has no place for what tells that there is more, and how to go on.
    if (envelope.counts || !rows.hasNext || rows.last === undefined) return { text, links: [] };
    const next = { ...beside(rows.last, 'next'), page: page + 1, hash: listHash(request), ...named };
    return { text, links: [`<${linkTo(path, request, next)}>; rel="next"`] };
  }

  async function byCursor(
    request: ListRequest<F>,
    source: ListSource<F, T>,
    path: string,
    cursor: Cursor | undefined,
  ) {
    const { limit, conditions, sort } = request;
    const [rows, counted] = await Promise.all([
      source.byKeyset({ conditions, sort }, keysetPage(limit, cursor)),
      cursor?.total ?? source.count(conditions),
    ]);
    const totalItems = totalBeside(rows, counted);
    const walk = { hash: cursor?.hash ?? listHash(request), total: totalItems, ...named };
    const { page, next, previous } = neighbours(rows, cursor, walk);
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
    return { text, links: [] };
  }

  return {
    query: listQuerySchema(rules),
    answers: envelopes.map(({ schema }) => schema(item.schema)),
    async reply(query, source, path = rules.path) {
      const request = read(query);
      const { page } = request;
      const { text, links } =
        page.kind === 'cursor'
          ? await byCursor(request, source, path, page.cursor)
          : await byOffset(request, source, path, page.offset);
      const { link, ...headers } =
        deprecation !== undefined && request.deprecated ? deprecationHeaders(deprecation) : {};
      const all = [...links, ...(link === undefined ? [] : [link])];
      return { headers: { ...headers, ...(all.length > 0 ? { link: all.join(', ') } : {}) }, text };
    },
  };
}

/** A page of the same list, relative to the server. */
function linkTo(path: string, { kept }: ListRequest<string>, cursor: Cursor): string {
  const query = new URLSearchParams(kept);
  query.set('cursor', encodeCursor(cursor));
  return `${path}?${query}`;
}
