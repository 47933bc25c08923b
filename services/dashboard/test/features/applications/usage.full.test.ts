import { jsonRequest } from '@gatehouse/testing/json-request';
import { until } from '@gatehouse/testing/processes';
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
  t.match(text, new RegExp(`nightly …${nightly.slice(-4)} 5 `));
  t.notMatch(text, unused.slice(-4), 'a key without requests has no row');
  t.match(
    text,
    /6,000 requests a minute .* had \d requests to the commerce service: at most 1 % of the limit/,
  );

  await built.call('DELETE', `${path}/${(await keyIds(path))[0]}`, 'ann');
  t.match(await read(), 'A revoked or expired key');
  const { browser: other } = await built.signedIn('editor');
  t.equal((await other.get(usage)).status, 404, 'others do not see it');

  async function keyIds(from: string): Promise<string[]> {
    const { body: keys } = await built.call<{ data: { id: string; name: string }[] }>('GET', from, 'ann');
    return keys.data.filter(({ name }) => name === 'nightly').map(({ id }) => id);
  }
});
