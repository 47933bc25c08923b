import { jsonRequest } from '@gatehouse/testing/json-request';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { startGatehouse, temporaryDir, tokenOf } from './gatehouse.ts';

type JsonResponse = { total: number; as_of: string; id: string; data: { id: string; status: string }[] };

t.test('npm start: what is counted in one process can be asked for seconds later', async (t) => {
  const gatehouse = await startGatehouse(t, temporaryDir(t));
  const { base, demo } = gatehouse;
  const token = await tokenOf(gatehouse);
  const ask = async (path: string, body?: object) =>
    (await jsonRequest<JsonResponse>(body === undefined ? 'GET' : 'POST', base + path, { token, body })).body;
  const since = new Date(Math.floor(Date.now() / 60_000) * 60_000).toISOString();
  for (let i = 0; i < 25; i += 1) await ask('/api/v1/items');
  const { username, password, user_id } = demo.user;
  for (let i = 0; i < 2; i += 1) await ask('/api/v1/auth/login', { username, password });
  const tea = await ask('/v2/products', { name: 'Tea', price: 12.5, currency: 'EUR', stock: 9 });
  const items = [{ product_id: tea.id, quantity: 2 }];
  await ask('/v2/orders', { user_id, items, currency: 'EUR' });

  const total = async (query: string) =>
    (await ask(`/api/v1/analytics?interval=minute&from=${since}&${query}`)).total;
  await until(
    async () => (await total('metric=orders')) === 1 && (await total('metric=logins')) === 2,
    20_000,
  );
  t.equal(await total('metric=revenue'), 25);
  // Of the check at the start, the machine's above, and the two logins; services' own do not count.
  t.ok((await total('metric=tokens_issued')) >= 3);
  const routes = async () => {
    const query = `metric=requests&group_by=route&client_id=${demo.machine.client_id}`;
    const response = await ask(`/api/v1/analytics?interval=minute&from=${since}&${query}`);
    return (response as unknown as { totals: { route: string; value: number }[] }).totals;
  };
  // Each service sends its counts when its own interval has passed.
  await until(
    async () => (await routes()).some((one) => one.route === 'GET /api/v1/items' && one.value === 25),
    20_000,
  );
  const totals = await routes();
  t.notOk(totals.some(({ route }) => route.includes('/internal/')));

  const { data } = await ask('/v2/integrations');
  t.same(
    data.filter(({ status }) => status === 'error'),
    [],
  );
  const metrics = await (await fetch(`${base}/metrics`)).text();
  t.match(
    metrics,
    /gatehouse_http_requests_total\{service="items",method="GET",route="\/api\/v1\/items",status="2xx"\} 25\n/,
  );
});
