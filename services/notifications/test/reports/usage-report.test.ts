import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { batchOf, build, requestsOf } from '../analytics/build.ts';
import type { ReportBody } from './service.ts';

const { base, call, issuer, send, settled } = await build(t);
const token = await issuer.machine('read:data write:data');
issuer.applicationNames.set('app_shop', 'Ann’s shop');

const today = new Date().toISOString().slice(0, 10);
await send(
  batchOf({
    requests: [
      requestsOf({ client: 'app_shop', statuses: [3, 0, 0, 1] }),
      requestsOf({ client: 'app_unseen' }),
      requestsOf({ client: null }),
    ],
  }),
);
await settled();

async function usage(format: string): Promise<Response> {
  const asked = await call('POST', '/v2/reports/generate', token, { type: 'usage', format });
  const { id } = asked.body as unknown as ReportBody;
  await until(async () => {
    const { body } = await call('GET', `/v2/reports/${id}`, token);
    return (body as unknown as ReportBody).status === 'completed';
  }, 10_000);
  return fetch(`${base}/v2/reports/${id}/download`, { headers: { authorization: `Bearer ${token}` } });
}

t.test('usage by day and application, with names, where there was any', async (t) => {
  const { rows } = JSON.parse(await (await usage('json')).text());
  t.same(rows, [
    { day: today, client_id: null, application: 'no application', requests: 1, errors: 0 },
    { day: today, client_id: 'app_shop', application: 'Ann’s shop', requests: 4, errors: 1 },
    { day: today, client_id: 'app_unseen', application: 'app_unseen', requests: 1, errors: 0 },
  ]);
  t.equal(
    await (await usage('csv')).text(),
    [
      'Day,Client id,Application,Requests,Errors',
      `${today},,no application,1,0`,
      `${today},app_shop,Ann’s shop,4,1`,
      `${today},app_unseen,app_unseen,1,0`,
      '',
    ].join('\r\n'),
  );
});

t.test('a period before all that is kept is refused when it is asked for', async (t) => {
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
  for (const [period, problem] of [
    [{ from: daysAgo(730) }, undefined],
    [{ from: daysAgo(731) }, 'from must be within the last 730 days.'],
    [{ to: daysAgo(710) }, 'to must be within the last 730 days.'],
  ] as [object, string | undefined][]) {
    const { status, body } = await call('POST', '/v2/reports/generate', token, {
      ...{ type: 'usage', format: 'csv', ...period },
    });
    t.equal(status, problem === undefined ? 202 : 400, JSON.stringify(period));
    if (problem === undefined) continue;
    t.equal((body as unknown as { error: { message: string } }).error.message, problem);
  }
  const { status } = await call('POST', '/v2/reports/generate', token, {
    ...{ type: 'orders', format: 'csv', from: daysAgo(731) },
  });
  t.equal(status, 202, 'orders are kept');
});
