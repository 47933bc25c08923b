import { v2Body } from '@gatehouse/api/http/error-bodies';
import { deprecationHeaders, GUIDE_PATH } from '@gatehouse/api/lists/deprecation';
import { type ListRules, listReader } from '@gatehouse/api/lists/list-request';
import { createApp } from '@gatehouse/api/resource/app';
import { mountFilterGuide } from '@gatehouse/api/resource/filter-guide';
import { createLogger } from '@gatehouse/core/logger';
import t, { type Test } from 'tap';

t.test('the headers', async (t) => {
  t.strictSame(deprecationHeaders({ sunset: new Date('2027-07-10T00:00:00Z') }), {
    deprecation: '@1752105600',
    sunset: 'Sat, 10 Jul 2027 00:00:00 GMT',
    link: '</guides/filters>; rel="deprecation"; type="text/markdown"',
  });
  t.equal(new Date(1_752_105_600 * 1000).toISOString(), '2025-07-10T00:00:00.000Z');
});

async function serveGuide(t: Test) {
  const destination = { write: () => {} };
  const app = createApp({
    logger: createLogger({ name: 'test', readable: false, destination }),
    errorBodyFor: () => v2Body,
    translate: () => undefined,
  });
  mountFilterGuide(app);
  t.teardown(() => app.close());
  await app.ready();
  return app;
}

t.test('the guide is served as text, without a credential', async (t) => {
  const app = await serveGuide(t);
  const { statusCode, headers, body } = await app.inject({ method: 'GET', url: GUIDE_PATH });
  t.equal(statusCode, 200);
  t.equal(headers['content-type'], 'text/markdown; charset=utf-8');
  t.match(headers['cache-control'], /^public, max-age=\d+$/);
  t.match(body, /^# Filtering lists\n/);
  const head = await app.inject({ method: 'HEAD', url: GUIDE_PATH });
  t.strictSame([head.statusCode, head.body], [200, '']);
});

const filters = {
  username: { field: 'username', type: 'string' },
  email: { field: 'email', type: 'string' },
  status: { field: 'status', type: 'string', values: ['active', 'inactive'] },
  created_at: { field: 'createdAt', type: 'date' },
  createdAt: { field: 'createdAt', type: 'date' },
} as const;
const v1: ListRules<string> = { path: '/v1/users', filters, legacy: true, paging: 'offset' };
const v2: ListRules<string> = { path: '/v2/users', filters, plain: ['status'], paging: 'page' };

t.test('every query of the guide does what the guide says', async (t) => {
  const app = await serveGuide(t);
  const { body } = await app.inject({ method: 'GET', url: GUIDE_PATH });
  const read = (path: string, query: string) =>
    listReader(path.startsWith('/v1') ? v1 : v2)(Object.fromEntries(new URLSearchParams(query)));

  const requests = [...body.matchAll(/^GET (\/\S+)\?(\S+)$/gm)].map(([, path = '', query = '']) => [
    path,
    query,
  ]);
  t.equal(requests.length, 4);
  for (const [path = '', query = ''] of requests) {
    const { conditions, deprecated } = read(path, query);
    t.ok(conditions.length >= 1, query);
    t.equal(deprecated, !query.includes('['), query);
  }
  const moves = [...body.matchAll(/^\| `\?(.+?)` \| `\?(.+?)` \|$/gm)];
  t.equal(moves.length, 2);
  for (const [, before = '', now = ''] of moves) {
    const [old, modern] = [read('/v1/users', before), read('/v1/users', now)];
    t.strictSame(modern.conditions, old.conditions, before);
    t.strictSame([old.deprecated, modern.deprecated], [true, false], before);
  }
});
