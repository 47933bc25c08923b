import { minuteOf } from '@gatehouse/server/usage/usage-batch';
import { createWireRow } from '@gatehouse/testing/wire-snapshot';
import t, { type Test } from 'tap';
import { batchOf, build, PATH, requestsOf, SCOPE } from './build.ts';

/**
 * What goes over the wire for the rows of the interface about analytics and integrations (4.4). A snapshot that changes is an
 * interface that changes.
 */

t.snapshotFile = new URL('wire.snapshot.cjs', import.meta.url);

const { issuer, call, send, settled, order } = await build(t);
const tokens = {
  machine: await issuer.machine(SCOPE),
  user: await issuer.person('usr_ann', 'user', `${SCOPE} manage:apps`),
  admin: await issuer.person('usr_root', 'admin', SCOPE),
  writer: await issuer.machine('write:data'),
  nobody: undefined,
};
const exchange = createWireRow(call, tokens);
issuer.own('usr_ann', 'app_a');
// All of it in the hour before this one, so that the responses are the same whenever the test runs.
const minute = minuteOf(Date.now()) - 60;
const start = new Date((minute - (minute % 60)) * 60_000);
const from = start.toISOString();
const to = new Date(start.getTime() + 2 * 3_600_000).toISOString();
const first = start.getTime() / 60_000;

const row = (t: Test, who: keyof typeof tokens, path: string) => exchange(t, who, 'GET', path);

t.test('analytics', async (t) => {
  await send(
    batchOf({
      requests: [
        requestsOf({ minute: first, statuses: [6, 0, 1, 1], latency: [20, 7, 30, 1] }),
        requestsOf({ minute: first + 1, client: 'app_b', route: 'POST /items', statuses: [2, 0, 0, 0] }),
      ],
    }),
  );
  const placed = { version: 1, status: 'pending', created_at: from };
  await order({ ...placed, id: 'ord_1', currency: 'USD', total_amount: 12.5 });
  await order({ ...placed, id: 'ord_2', currency: 'JPY', total_amount: 900 });
  await settled();
  const range = `from=${from}&to=${to}`;
  for (const who of ['machine', 'user', 'writer', 'nobody'] as const) await row(t, who, PATH);
  for (const query of [
    'metric=requests',
    'metric=requests&group_by=route',
    'metric=requests&group_by=client_id',
    'metric=requests&client_id=app_a&group_by=status',
    'metric=latency_p95',
    'metric=errors',
    'metric=logins',
    'metric=orders&group_by=status',
    'metric=revenue',
  ]) {
    await row(t, 'admin', `${PATH}?${query}&${range}`);
  }
  for (const query of ['metric=requests', 'metric=requests&client_id=app_b', 'metric=revenue'])
    await row(t, 'user', `${PATH}?${query}&${range}`);
  for (const query of [
    'metric=speed',
    'metric=requests&from=&client_id=',
    'metric=requests&metric=errors',
    'metric=requests&interval=week',
    'metric=requests&group_by=colour',
    'metric=orders&group_by=route',
    'metric=orders&client_id=app_a',
    'metric=requests&from=yesterday',
    'metric=requests&from=2026-02-30',
    'metric=requests&from=2024-01-01&to=2024-01-02',
    'metric=requests&interval=day&from=2000-01-01',
    `metric=requests&from=${to}&to=${from}`,
    'metric=requests&interval=minute&from=3000-01-01',
  ]) {
    await row(t, 'machine', `${PATH}?${query}`);
  }
});

t.test('integrations', async (t) => {
  for (const path of ['/v2/integrations', '/integrations']) {
    for (const who of ['machine', 'admin', 'user', 'writer', 'nobody'] as const) await row(t, who, path);
  }
});
