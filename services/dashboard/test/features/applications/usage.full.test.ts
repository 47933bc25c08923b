import { createUsage } from '@gatehouse/server/usage/usage';
import { type UsageBatch, usageSubject } from '@gatehouse/server/usage/usage-batch';
import { jsonRequest } from '@gatehouse/testing/json-request';
import { until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import { build, textOf } from '../../build.ts';

t.test('the usage of an application by endpoint, status and API key, with the rate limit', async (t) => {
  const built = await build(t, { notifications: true, rateLimit: 'on' });
  const application = { name: 'Job', type: 'machine', scopes: ['read:data'] };
  const { body } = await built.call<{ client_id: string }>(
    'POST',
    '/api/v1/applications',
    'ann',
    application,
  );
  const path = `/api/v1/applications/${body.client_id}/api-keys`;
  const keyOf = async (name: string) => {
    const made = await built.call<{ api_key: string; last_four: string }>('POST', path, 'ann', {
      name,
      scopes: ['read:data'],
    });
    return made.body.api_key;
  };
  const [nightly, unused] = [await keyOf('nightly'), await keyOf('unused')];
  const ask = (method: string, to: string) => jsonRequest(method, built.base + to, { token: nightly });
  for (let i = 0; i < 3; i += 1) t.equal((await ask('GET', '/v2/products')).status, 200);
  for (let i = 0; i < 2; i += 1) t.equal((await ask('DELETE', '/v2/products/x')).status, 403);

  const { browser } = await built.signedIn('ann');
  const usage = `/dashboard/applications/${body.client_id}/usage`;
  const read = async () => textOf(await browser.get(usage));
  await until(async () => (await read()).includes('DELETE /v2/products/:id'), 30_000);
  const text = await read();
  t.match(text, /GET \/v2\/products 3 0 0 [\d.]+ ms/);
  t.match(text, /DELETE \/v2\/products\/:id 2 2 0 [\d.]+ ms/);
  t.match(text, /Requests by status Status Requests 2xx 3 4xx 2 /);
  const { html } = await browser.get(usage);
  t.match(html, '<span class="status is-warning">4xx</span>', 'in amber, and not in red or green');
  t.match(html, '<span class="status is-good">2xx</span>');
  t.match(html, /class="plot bars failures"/, 'as in the plot');
  t.match(text, new RegExp(`nightly …${nightly.slice(-4)} 5 `));
  t.notMatch(text, unused.slice(-4), 'a key without requests has no row');
  t.match(text, /tokens and API keys of the application share a limit of 6,000 requests a minute/);
  t.match(text, /commerce \d of 6,000 0 /, 'how near the busiest minute came to the limit');
  t.match(text, /Error rate 40 %/);
  t.ok(text.indexOf('Error rate') < text.indexOf('Median'), 'errors first');
  t.match(text, /No data in this period: Tokens issued\./, 'in place of an empty plot');

  await built.call('DELETE', `${path}/${(await keyIds(path))[0]}`, 'ann');
  t.match(await read(), 'A revoked or expired key');
  const refusals = [429, 429, 200].map((status) => ({ status, route: 'GET /v2/products' }));
  const send = async (data: UsageBatch) =>
    built.events?.publish({ id: data.id, subject: usageSubject('commerce'), at: new Date(), data });
  const sent = createUsage({ service: 'commerce', send, logger });
  for (const it of refusals) sent.observe({ ...it, client: body.client_id, ms: 1 } as never);
  const { body: planner } = await built.call<{ client_id: string }>('POST', '/api/v1/applications', 'ann', {
    ...application,
    name: 'Planner',
  });
  t.notMatch(await read(), 'Requests by agent', 'without agents');
  for (const actors of [[body.client_id, planner.client_id], [body.client_id]])
    sent.observe({ ...refusals[2], client: body.client_id, ms: 1, info: { id: 'req_1', actors } } as never);
  await sent.flush();
  await until(async () => /commerce \d+ of 6,000 2 /.test(await read()), 30_000);
  t.match(await read(), /Requests by agent .* Agent Requests Job 2 Planner 1 /);
  const limits = '/dashboard/rate-limits';
  const own = await browser.get(limits);
  t.match(textOf(own), /Job \d+ of 6,000 commerce 2 /, 'how near, and how many were refused');
  t.match(own.html, `href="/dashboard/applications/${body.client_id}/usage"`);
  t.match(own.html, `href="/dashboard/requests?client=${body.client_id}&amp;status=429"`);
  const { browser: admins } = await built.signedIn('admin');
  const all = textOf(await admins.get(limits));
  t.match(all, /Job \d+ of 6,000 commerce 2 /);
  const shares = [...all.matchAll(/([\d,]+) of 6,000/g)].map(([, share = '']) =>
    Number(share.replace(',', '')),
  );
  t.same(
    shares,
    shares.toSorted((a, b) => b - a),
    'the nearest first',
  );
  const unlimited = await built.replica({ rateLimit: 'off' });
  const cookie = [...browser.cookies('/dashboard')].map(([name, value]) => `${name}=${value}`).join('; ');
  const there = await fetch(unlimited + usage, { headers: { cookie } });
  t.match(await there.text(), 'Requests are not limited in this deployment.');
  const { browser: other } = await built.signedIn('editor');
  t.equal((await other.get(usage)).status, 404, 'others do not see it');

  async function keyIds(from: string): Promise<string[]> {
    const { body: keys } = await built.call<{ data: { id: string; name: string }[] }>('GET', from, 'ann');
    return keys.data.filter(({ name }) => name === 'nightly').map(({ id }) => id);
  }
});
