import { setTimeout as sleep } from 'node:timers/promises';
import { serializer } from '@gatehouse/api/http/schema';
import { decodeCursor, profileInCursor } from '@gatehouse/api/lists/cursor';
import { createListEndpoint } from '@gatehouse/api/lists/list-endpoint';
import type { ListRules } from '@gatehouse/api/lists/list-request';
import {
  bareArray,
  cursorEnvelope,
  type Envelope,
  offsetEnvelope,
  pageEnvelope,
} from '@gatehouse/api/lists/paging';
import type { ListSource } from '@gatehouse/domain/list-query';
import t from 'tap';
import { Type } from 'typebox';
import { createArraySource, type Row, type RowField } from './array-source.ts';

const AT = new Date('2025-07-10T12:00:00Z');
const rows = ['a', 'b', 'c', 'd', 'e'].map((id, i): Row => ({ id, n: i % 2, at: AT }));
const filters = { n: { field: 'n', type: 'integer' }, at: { field: 'at', type: 'date' } } as const;
const sort = { fields: { n: 'n', at: 'at' }, by: 'sortBy', order: 'sortOrder' } as const;

const schema = Type.Object({ id: Type.String() });
const item = { schema, write: serializer(schema) as (row: Row) => string };

function endpoint(envelope: Envelope, more: Partial<ListRules<RowField>> = {}, profile?: string) {
  const created = createListEndpoint({
    ...(profile === undefined ? {} : { profile }),
    rules: { path: '/v1/rows', filters, sort, legacy: true, paging: envelope.paging, ...more },
    envelope,
    item,
    deprecation: { sunset: new Date('2027-07-10T00:00:00Z') },
  });
  const limited = <T>(work: () => Promise<T>) => work();
  const reply = (query: unknown, source: ListSource<RowField, Row>, path?: string) =>
    created.reply(query, source, { limited, ...(path === undefined ? {} : { path }) });
  return { ...created, reply };
}

const CURSOR_META = { totalItems: 5, itemsPerPage: 2, currentPage: 1, hasNextPage: true, hasPrevPage: false };
const queryOf = (link: string) => Object.fromEntries(new URL(link, 'http://x').searchParams);

t.test('pages that are counted', async (t) => {
  const { source, counted } = createArraySource(rows);
  const offset = await endpoint(offsetEnvelope).reply({ limit: '2', offset: '3' }, source);
  t.strictSame(offset, {
    headers: {},
    text: '{"data":[{"id":"d"},{"id":"e"}],"pagination":{"limit":2,"offset":3,"total":5}}',
  });
  const page = await endpoint(pageEnvelope).reply({ limit: '2', page: '2', sortOrder: 'desc' }, source);
  t.strictSame(page, {
    headers: {},
    text: '{"data":[{"id":"c"},{"id":"b"}],"meta":{"total":5,"page":2,"limit":2}}',
  });
  const filtered = await endpoint(pageEnvelope).reply({ 'filter[n]': '1' }, source);
  t.equal(filtered.text, '{"data":[{"id":"b"},{"id":"d"}],"meta":{"total":2,"page":1,"limit":20}}');
  t.strictSame(counted.at(-1), [{ field: 'n', operator: 'eq', values: [1] }]);
  const beyond = await endpoint(offsetEnvelope).reply({ offset: '9' }, source);
  t.equal(beyond.text, '{"data":[],"pagination":{"limit":20,"offset":9,"total":5}}');
});

t.test('a bare array tells by a header how to go on', async (t) => {
  const { source, counted } = createArraySource(rows);
  const { reply } = endpoint(bareArray);
  const query = { limit: '2', offset: '1', 'filter[at][gte]': '2025-07-01', sortBy: 'n', other: 'x' };
  const { headers, text } = await reply(query, source);
  t.equal(text, '[{"id":"c"},{"id":"e"}]');
  t.strictSame(counted, [], 'nobody asked for a total');
  const [, link = ''] = /^<(\/v1\/rows\?[^>]+)>; rel="next"$/.exec(headers.link ?? '') ?? [];
  const { cursor = '', ...others } = queryOf(link);
  t.strictSame(others, { limit: '2', 'filter[at][gte]': '2025-07-01', sortBy: 'n' });
  t.match(decodeCursor(cursor), { position: { id: 'e', value: 0 }, page: 2, direction: 'next' });

  const next = JSON.parse((await reply(queryOf(link), source)).text);
  t.strictSame(next.data, [{ id: 'b' }, { id: 'd' }]);
  t.strictSame(next.meta, { ...CURSOR_META, currentPage: 2, hasNextPage: false, hasPrevPage: true });
  t.strictSame(Object.keys(next.links), ['prev']);

  t.strictSame(await reply({ limit: '2', offset: '3' }, source), {
    headers: {},
    text: '[{"id":"d"},{"id":"e"}]',
  });
  t.strictSame(await reply({ offset: '5' }, source), { headers: {}, text: '[]' });
  t.notHas((await endpoint(offsetEnvelope).reply({ limit: '2' }, source)).headers, { link: '' });
});

t.test('the cursor envelope', async (t) => {
  const list = createArraySource(rows);
  const { reply } = endpoint(offsetEnvelope);
  const first = await reply({ cursor: '', limit: '2', unknown: 'x' }, list.source);
  t.strictSame(first.headers, {});
  t.match(
    first.text,
    /^{"data":\[{"id":"a"},{"id":"b"}\],"links":{"next":"\/v1\/rows\?limit=2&cursor=[\w-]+"},"meta":{"totalItems":5,"itemsPerPage":2,"currentPage":1,"hasNextPage":true,"hasPrevPage":false}}$/,
  );
  const next = JSON.parse(first.text).links.next;
  const second = await reply(queryOf(next), list.source);
  t.match(
    second.text,
    /^{"data":\[{"id":"c"},{"id":"d"}\],"links":{"next":"[^"]+","prev":"[^"]+"},"meta":{"totalItems":5,"itemsPerPage":2,"currentPage":2,"hasNextPage":true,"hasPrevPage":true}}$/,
  );
  t.equal(list.counted.length, 1, 'the total travels in the cursor');
  const { links } = JSON.parse(second.text);
  const back = await reply(queryOf(links.prev), list.source);
  t.strictSame(JSON.parse(back.text).meta, CURSOR_META);
  const last = JSON.parse((await reply({ ...queryOf(links.next), limit: '50' }, list.source)).text);
  t.strictSame([last.data, last.meta.currentPage, last.links.next], [[{ id: 'e' }], 3, undefined]);

  const empty = await reply({ cursor: '', 'filter[n]': '7' }, list.source);
  t.equal(
    empty.text,
    '{"data":[],"links":{},"meta":{"totalItems":0,"itemsPerPage":0,"currentPage":1,"hasNextPage":false,"hasPrevPage":false}}',
  );
});

t.test('a path of its own is where the links lead', async (t) => {
  const { source } = createArraySource(rows);
  const { text } = await endpoint(offsetEnvelope).reply({ cursor: '', limit: '1' }, source, '/users');
  t.match(JSON.parse(text).links.next, /^\/users\?limit=1&cursor=/);
  const { headers } = await endpoint(bareArray).reply({ limit: '1' }, source, '/users');
  t.match(headers.link, /^<\/users\?limit=1&cursor=/);
});

t.test('a deprecated filter is answered with its headers', async (t) => {
  const { source } = createArraySource(rows);
  const guide = '</guides/filters>; rel="deprecation"; type="text/markdown"';
  const dates = { deprecation: '@1752105600', sunset: 'Sat, 10 Jul 2027 00:00:00 GMT' };
  const counted = await endpoint(offsetEnvelope).reply({ n: '1' }, source);
  t.strictSame(counted.headers, { ...dates, link: guide });
  t.strictSame(JSON.parse(counted.text).data, [{ id: 'b' }, { id: 'd' }]);
  const bare = await endpoint(bareArray).reply({ n: '0', limit: '1' }, source);
  t.match(bare.headers, dates);
  t.match(bare.headers.link, /^<\/v1\/rows\?n=0&limit=1&cursor=[\w-]+>; rel="next", <\/guides\/filters>; /);
  const byCursor = await endpoint(offsetEnvelope).reply({ n: '0', cursor: '', limit: '1' }, source);
  t.strictSame(byCursor.headers, { ...dates, link: guide });
  const { next } = JSON.parse(byCursor.text).links;
  t.strictSame((await endpoint(offsetEnvelope).reply(queryOf(next), source)).headers, {
    ...dates,
    link: guide,
  });

  t.strictSame((await endpoint(offsetEnvelope).reply({ 'filter[n]': '1' }, source)).headers, {});
  await t.rejects(endpoint(offsetEnvelope, { legacy: false }).reply({ n: '1' }, source), /write filter\[n\]/);
});

t.test('a total that the rows show to be wrong is put right', async (t) => {
  const { source } = createArraySource(rows);
  const saying = (total: number): ListSource<RowField, Row> => ({ ...source, count: async () => total });
  const cases: [query: Record<string, string>, counted: number, total: number][] = [
    [{ limit: '2' }, 0, 3],
    [{ limit: '2' }, 50, 50],
    [{ limit: '2', offset: '2' }, 2, 5],
    [{ limit: '2', offset: '4' }, 50, 5],
    [{ offset: '7' }, 50, 7],
    [{ offset: '7' }, 4, 4],
    [{ cursor: '' }, 50, 5],
    [{ cursor: '', limit: '2' }, 1, 3],
    [{ cursor: '', limit: '2' }, 50, 50],
  ];
  for (const [query, counted, total] of cases) {
    const { pagination, meta } = JSON.parse(
      (await endpoint(offsetEnvelope).reply(query, saying(counted))).text,
    );
    t.equal(pagination?.total ?? meta.totalItems, total, JSON.stringify([query, counted]));
  }
});

t.test('invalid queries, and errors of the source', async (t) => {
  const { source } = createArraySource(rows);
  const { reply } = endpoint(offsetEnvelope);
  await t.rejects(reply({ limit: '0' }, source), { kind: 'invalid', message: 'limit must be at least 1.' });
  const gone = { ...source, count: async () => Promise.reject(new Error('gone')) };
  await t.rejects(reply({}, gone), { message: 'gone' });
  await t.rejects(reply({ cursor: '' }, gone), { message: 'gone' });
  t.throws(() => endpoint(pageEnvelope, { paging: 'offset' }), /\/v1\/rows: the envelope pages another way/);
});

t.test('the documentation of the endpoint', async (t) => {
  const { query, responses } = endpoint(bareArray);
  t.hasProps(query.properties, ['limit', 'offset', 'cursor', 'filter[n]', 'n', 'sortBy']);
  t.match(responses, [{ type: 'array' }, { type: 'object', properties: { data: {}, links: {}, meta: {} } }]);
  t.equal(responses.length, 2);
});

t.test('a list that is paged by cursor alone', async (t) => {
  const { source } = createArraySource(rows);
  const { responses, query, reply } = endpoint(cursorEnvelope);
  t.equal(responses.length, 1);
  t.notOk('offset' in query.properties || 'page' in query.properties);
  const first = JSON.parse((await reply({ limit: '2' }, source)).text);
  t.match(first, { data: [{ id: 'a' }, { id: 'b' }], meta: CURSOR_META });
  t.strictSame(JSON.parse((await reply({ limit: '2', cursor: '' }, source)).text), first);
  t.match(JSON.parse((await reply(queryOf(first.links.next), source)).text).data, [{ id: 'c' }, { id: 'd' }]);
  for (const name of ['offset', 'page']) {
    const details = [{ field: name, message: 'is not a parameter of this list, which is paged by cursor' }];
    const refused = await reply({ [name]: '1' }, source).catch((error: unknown) => error);
    t.match(refused, { kind: 'invalid', details }, name);
  }
});

t.test('cursors carry the profile of the list that wrote them', async (t) => {
  const { source } = createArraySource(rows);
  const writtenBy = (link = '') => profileInCursor(queryOf(link).cursor);
  for (const name of ['A', undefined]) {
    const bare = await endpoint(bareArray, {}, name).reply({ limit: '1' }, source);
    t.equal(writtenBy(/<([^>]+)>/.exec(bare.headers.link ?? '')?.[1]), name, 'in the header');
    const { reply } = endpoint(offsetEnvelope, {}, name);
    const { links } = JSON.parse((await reply({ cursor: '', limit: '1' }, source)).text);
    t.equal(writtenBy(links.next), name, 'next');
    const second = JSON.parse((await reply(queryOf(links.next), source)).text);
    t.same([second.links.next, second.links.prev].map(writtenBy), [name, name], 'next and prev');
    // Whoever is sent on with a cursor of another list stays in this one from then on.
    const other = endpoint(offsetEnvelope, {}, 'B');
    const moved = JSON.parse((await other.reply(queryOf(links.next), source)).text);
    t.same(moved.data, second.data);
    t.same([moved.links.next, moved.links.prev].map(writtenBy), ['B', 'B']);
  }
});

t.test('a page that is refused is in flight until its list has been counted', async (t) => {
  const refused = async () => Promise.reject(new Error('no such page'));
  for (const query of [{ page: '2' }, { cursor: '' }]) {
    const { promise, resolve } = Promise.withResolvers<number>();
    const source = { byOffset: refused, byKeyset: refused, count: () => promise };
    const reply = endpoint(pageEnvelope).reply(query, source);
    t.equal(await Promise.race([reply.catch(() => 'refused'), sleep(20, 'in flight')]), 'in flight');
    resolve(5);
    await t.rejects(reply, { message: 'no such page' });
  }
});

t.test('a search that did not look at all rows says so', async (t) => {
  for (const isIncomplete of [true, false]) {
    const rows = async () => ({ items: [], hasNext: false, hasPrevious: false, isIncomplete });
    const source = { byOffset: rows, byKeyset: rows, count: async () => 0 };
    for (const query of [{ cursor: '' }, { offset: '0' }]) {
      const { headers } = await endpoint(bareArray).reply(query, source);
      t.strictSame(headers, isIncomplete ? { 'incomplete-results': '?1' } : {});
    }
  }
});
