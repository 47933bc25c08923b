import { v2Body } from '@gatehouse/api/http/error-bodies';
import { listReader } from '@gatehouse/api/lists/list-request';
import { createApp } from '@gatehouse/api/resource/app';
import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';

const readQuery = listReader({
  path: '/v1/rows',
  filters: { n: { field: 'n', type: 'integer' }, at: { field: 'at', type: 'date' } },
  legacy: true,
  paging: 'offset',
});

t.test('the queries of lists, as the app parses them', async (t) => {
  const app = createApp({
    logger,
    errorBodyFor: () => v2Body,
    translate: () => undefined,
  });
  t.teardown(() => app.close());
  app.get('/v1/rows', async (request) => readQuery(request.query));
  const get = async (query: string) => (await app.inject({ method: 'GET', url: `/v1/rows?${query}` })).json();

  const odd = { field: 'n', operator: 'eq', values: [1] };
  const noon = { field: 'at', operator: 'lte', values: ['2025-07-10T12:00:00.000Z'] };
  t.strictSame((await get('filter[n]=1')).conditions, [odd], 'brackets as they are');
  const escaped = await get('filter%5Bn%5D=1&filter%5Bat%5D%5Blte%5D=2025-07-10T14:00:00%2B02:00');
  t.strictSame(escaped.conditions, [odd, noon]);
  t.strictSame(escaped.linkParameters, [
    ['filter[n]', '1'],
    ['filter[at][lte]', '2025-07-10T14:00:00+02:00'],
  ]);
  t.match(await get('cursor=&filter[at][lte]=2025-07-10T12%3A00%3A00Z&limit=1'), {
    conditions: [noon],
    limit: 1,
    page: { kind: 'cursor' },
  });
  const refused = {
    'filter[n]=1&filter%5Bn%5D=1': { field: 'filter[n]', message: 'must be given once' },
    'cursor=&cursor=': { field: 'cursor', message: 'must be given once' },
    'filter=z': { field: 'filter', message: /^must be written filter\[field\]/ },
    'filter[n]': { field: 'filter[n]', message: 'must not be empty' },
    'filter[at][lt]=2025-07-10T14:00:00+02:00': { field: 'filter[at][lt]', message: /^must be a date/ },
    'filter[n]=%': { field: 'filter[n]', message: 'must be a whole number' },
    'filter[n]=1;limit=2': { field: 'filter[n]', message: 'must be a whole number' },
  };
  for (const [query, problem] of Object.entries(refused)) {
    t.match(await get(query), { error: { code: 'invalid_parameter', details: [problem] } }, query);
  }
  const unknown = await get('__proto__=x&constructor=y&&=&filters=z');
  t.match(unknown, { conditions: [], linkParameters: [] }, 'other parameters are ignored');
});
