import t from 'tap';
import { readLibrary } from '../../src/docs/guides/library.ts';
import type { OpenApiDocument } from '../../src/docs/openapi/document.ts';
import { topicsOf } from '../../src/docs/reference/topics.ts';
import { createSearch } from '../../src/docs/search/search.ts';

const operation = (operationId: string, summary: string, tag: string) => ({
  operationId,
  summary,
  tags: [tag],
  responses: {},
});
const document: OpenApiDocument = {
  openapi: '3.1.1',
  info: { title: 'All', version: '1' },
  tags: [{ name: '/v1/users' }, { name: '/v2/orders' }],
  'x-tagGroups': [
    { name: 'Users', tags: ['/v1/users'] },
    { name: 'Orders', tags: ['/v2/orders'] },
  ],
  paths: {
    '/v1/users': {
      get: operation('list_v1_users', 'List users (A, G)', '/v1/users'),
      post: operation('create_v1_users', 'Create a user (A)', '/v1/users'),
    },
    '/v2/orders/{id}/status': {
      patch: operation('patch_status', 'Change the status of an order', '/v2/orders'),
    },
  },
};
const find = createSearch(readLibrary(), topicsOf(document));
const hrefs = (query: string) => find(query).map(({ href }) => href);

const CASES: [query: string, href: string, why: string][] = [
  ['list users', '/docs/api/v1-users#list_v1_users', 'an operation by its summary'],
  ['PATCH /v2/orders/{id}/status', '/docs/api/v2-orders#patch_status', 'by its method and path'],
  ['conditional requests', '/docs/guides/users-api#conditional-requests', 'a section by its heading'],
  ['condit', '/docs/guides/users-api#conditional-requests', 'by the beginning of a word'],
  ['conditinal reqests', '/docs/guides/users-api#conditional-requests', 'with mistakes'],
  ['CONDITIONAL', '/docs/guides/users-api#conditional-requests', 'in capitals'],
];

t.test('guides are found by section, and operations', async (t) => {
  for (const [query, href, why] of CASES) t.ok(hrefs(query).slice(0, 3).includes(href), `${why}: ${query}`);
  t.same(find('list users')[0]?.operation, { method: 'get', path: '/v1/users' });
  t.match(find('list users')[0]?.place, 'profile A, G');
});

t.test('pages about a word come before pages that mention it', async (t) => {
  for (const [query, href] of [
    ['idempotency', '/docs/guides/users-api#idempotency-key'],
    ['idempotency keys', '/docs/guides/users-api#idempotency-key'],
    ['idempotency key', '/docs/guides/users-api#idempotency-key'],
    ['idempotent', '/docs/guides/users-api#idempotency-key'],
    ['Idempotency-Key', '/docs/guides/users-api#idempotency-key'],
    ['paging', '/docs/guides/paging'],
    ['pagination', '/docs/guides/paging'],
    ['throttling', '/docs/guides/errors#rate-limits'],
    ['errors', '/docs/guides/errors'],
    ['rate limits', '/docs/guides/errors#rate-limits'],
    ['token lifetime', '/docs/guides/lifetimes'],
    ['block a user', '/docs/guides/users-api#block-a-user'],
    ['SAML', '/docs/guides/migrating#what-cannot-be-brought-along'],
    ['logo', '/docs/guides/production#name-logo-and-colours'],
    ['cors', '/docs/guides/errors#calls-from-a-browser-cors'],
    ['social login', '/docs/guides/identity-providers'],
    ['webhook signature', '/docs/guides/webhooks#receive-one'],
  ] as const) {
    t.equal(hrefs(query)[0], href, query);
  }
});

t.test('a page is called as its object, and two paths of the same operations have one', async (t) => {
  const paths = ['/v2/sets/search', '/v2/sets', '/sets', '/v1/sets'];
  const of = (path: string) => ({
    ...operation(`list${path}`, path === '/v1/sets' ? 'List' : 'List sets', path),
    description: `As ${path}?cursor=x`,
  });
  const [topic] = topicsOf({
    ...document,
    tags: paths.map((name) => ({ name })),
    'x-tagGroups': [{ name: 'Sets', tags: paths }],
    paths: Object.fromEntries(paths.map((path) => [path, { get: of(path) }])),
  });
  t.same(
    topic?.pages.map((page) => [
      page.title,
      page.paths,
      page.operations.map(({ path, aliases }) => [path, ...(aliases ?? [])]),
    ]),
    [
      ['Sets', ['/v2/sets', '/sets'], [['/v2/sets', '/sets']]],
      ['Sets', ['/v1/sets'], [['/v1/sets']]],
      ['Sets: search', ['/v2/sets/search'], [['/v2/sets/search']]],
    ],
  );
});

t.test('matches of all words come alone; without any, matches of some', async (t) => {
  const both = find('kubernetes zzzz users');
  t.ok(both.length > 0);
  t.same(find('zzzzqqqq'), []);
  t.same(find(''), []);
  t.same(find('?!'), []);
});

t.test('every result leads to an anchor that there is', async (t) => {
  const ids = new Set(
    readLibrary().flatMap(({ href, sections }) => sections.map(({ id }) => (id ? `${href}#${id}` : href))),
  );
  for (const word of ['the', 'token', 'a', 'service']) {
    for (const { href } of find(word)) t.ok(ids.has(href) || href.startsWith('/docs/api/'), href);
  }
});
