import { formsOf } from '@gatehouse/testing/form-browser';
import t from 'tap';
import { build, heading } from '../build.ts';

t.setTimeout(120_000);
const built = await build(t);
const { browser } = await built.signedIn('admin');
const read = async <T>(path: string) => (await built.call<T>('GET', path)).body;
const make = async <T>(path: string, body: object) =>
  (await built.call<T & { id: string }>('POST', path, 'admin', body)).body;

type Made = { client_id: string };
const applications = '/api/v1/applications';
const machine = (name: string) => make<Made>(applications, { name, type: 'machine', scopes: ['read:data'] });
const app = await machine('Night job');
const given = await machine('Given away');
const doomed = await machine('Doomed');
const keys = `${applications}/${app.client_id}/api-keys`;
for (const name of ['nightly', 'hourly']) await make(keys, { name, scopes: ['read:data'] });
const item = await make('/api/v1/items', { name: 'colours', value: 1 });
const product = await make('/v2/products', { name: 'Tea', price: 2.5, currency: 'EUR', stock: 10 });
const user = (username: string) =>
  make('/kb/api/v1/users', {
    ...{ username, email: `${username}@example.org`, password: 'correct horse battery', role: 'user' },
  });
const [ben, cleo] = [await user('ben'), await user('cleo')];
const order = async (...statuses: string[]) => {
  const { id } = await make('/v2/orders', {
    items: [{ product_id: product.id, quantity: 1 }],
    currency: 'EUR',
  });
  for (const status of statuses) await built.call('PATCH', `/v2/orders/${id}/status`, 'admin', { status });
  return id;
};
const delivered = await order('confirmed', 'processing', 'shipped', 'delivered');
const pending = await order();
const { browser: owner } = await built.signedIn('ann');
const redirect_uri = 'https://shop.example.org/callback';
const shop = await make<Made>(applications, {
  ...{ name: 'Shop', type: 'web', scopes: ['openid'], redirect_uris: [redirect_uri] },
});
const authorization = { client_id: shop.client_id, redirect_uri, response_type: 'code', scope: 'openid' };
const consent = await owner.get(`/oauth2/authorize?${new URLSearchParams(authorization)}`);
await owner.submit(consent, { decision: 'allow' });

type Listed = { data: { id: string; name: string; kid: string; alg: string; state: string }[] };
const secrets = async (of = app) => (await read<Listed>(`${applications}/${of.client_id}/secrets`)).data;
const keyNamed = async (name: string) => (await read<Listed>(keys)).data.find((key) => key.name === name)?.id;
const kids = async () =>
  (await read<Listed>('/api/v1/signing-keys')).data
    .filter(({ state }) => state === 'current')
    .map(({ kid }) => kid);
const statusOf = (path: string) => async () => (await read<{ status: string }>(path)).status;
const isThere = (path: string) => async () => (await built.call('GET', path)).status;
const settings = `/applications/${app.client_id}`;
const [secret] = await secrets();
const ann = built.people.ann.id;
const consents = `/api/v1/consents?user_id=${ann}`;
const openSessions = `/api/v1/sessions?user_id=${ann}`;

type Act = {
  path: string;
  /** What has to be typed; nothing where a button is enough. */
  name?: string;
  fields?: Record<string, string>;
  /** What the page says about what is lost. */
  says: RegExp;
  /** What the act changes. */
  state(): Promise<unknown>;
};
const ACTS: Act[] = [
  {
    path: `/applications/${doomed.client_id}/credentials/secrets/${(await secrets(doomed))[0]?.id}/rotate`,
    ...{ fields: { expires_in: 'never' }, says: /never used.*keeps working until you remove it/s },
    state: async () => (await secrets(doomed)).length,
  },
  {
    ...{ path: `${settings}/credentials/secrets/${secret?.id}/remove`, name: 'Night job' },
    ...{ says: /never used.*stop working at once/s, state: async () => (await secrets()).length },
  },
  {
    ...{ path: `${settings}/credentials/keys/${await keyNamed('hourly')}/rotate`, fields: { overlap: '0' } },
    ...{ says: /old key, never used/, state: async () => await keyNamed('hourly') },
  },
  {
    path: `${settings}/credentials/keys/${await keyNamed('nightly')}/revoke`,
    ...{ says: /nightly.*never used/s, state: async () => await keyNamed('nightly') },
  },
  {
    ...{ path: `${settings}/trust`, says: /with its own scopes.*<strong>read:data<\/strong>/s },
    state: async () => (await read<{ trusted: boolean }>(`${applications}/${app.client_id}`)).trusted,
  },
  {
    ...{ path: `${settings}/deployer`, says: /in your name, without a sign-in.*The mark ends when/s },
    state: isThere(`${applications}/${app.client_id}/deployer`),
  },
  {
    ...{ path: `/applications/${given.client_id}/transfer`, name: 'Given away', fields: { to: 'ben' } },
    says: /you lose access/,
    state: isThere(`${applications}/${given.client_id}/transfer`),
  },
  {
    ...{ path: `/applications/${doomed.client_id}/delete`, name: 'Doomed', says: /never used/ },
    state: isThere(`${applications}/${doomed.client_id}`),
  },
  {
    ...{ path: `/items/${item.id}/delete`, name: 'colours', says: /cannot be undone/ },
    state: isThere(`/api/v1/items/${item.id}`),
  },
  {
    ...{ path: `/orders/${delivered}/refund`, says: /2\.50/, state: statusOf(`/v2/orders/${delivered}`) },
  },
  {
    ...{ path: `/orders/${pending}/cancel`, says: /2\.50/, state: statusOf(`/v2/orders/${pending}`) },
  },
  {
    ...{ path: `/products/${product.id}/delete`, name: 'Tea', says: /cannot be undone/ },
    state: isThere(`/v2/products/${product.id}`),
  },
  {
    ...{ path: `/users/${ann}/applications/${shop.client_id}/end`, says: /stop working at once/ },
    state: async () => (await read<Listed>(consents)).data.length,
  },
  {
    ...{ path: `/users/${ann}/password-reset`, says: /mailed to .*ann@example\.org/ },
    state: async () => built.links.length,
  },
  {
    ...{ path: `/users/${ann}/sessions/end-all`, says: /1 open session ends\. The last use was/ },
    state: async () => (await read<Listed>(openSessions)).data.length,
  },
  {
    ...{
      path: `/users/${ben.id}/deactivate`,
      says: /There are no open sessions.*Activating the account does not bring them back/s,
    },
    state: statusOf(`/v2/users/${ben.id}`),
  },
  {
    ...{ path: `/users/${cleo.id}/delete`, name: 'cleo', says: /cannot be undone/ },
    state: isThere(`/v2/users/${cleo.id}`),
  },
  {
    path: '/signing-keys/rotate',
    fields: { kid: (await kids())[0] ?? '', force: 'yes' },
    says: /The key has signed tokens since/,
    state: kids,
  },
  { path: '/signing-keys/compromised', name: 'remove all keys', says: /Every token/, state: kids },
];

for (const { path, name, fields = {}, says, state } of ACTS) {
  t.test(`${path.replaceAll(/\w+_\w+/g, 'id')} asks first`, async (t) => {
    const before = await state();
    const page = await browser.get(`/dashboard${path}`);
    t.equal(page.status, 200);
    t.match(page.html, says);
    const form = formsOf(page.html).find(({ action }) => action === `/dashboard${path}`);
    t.equal(
      form?.html.includes('required') && name !== undefined,
      name !== undefined,
      'the name is asked for',
    );
    t.same(await state(), before, 'GET changes nothing');

    const which = `action="/dashboard${path}"`;
    for (const confirmation of ['', 'no', name === undefined ? 'true' : 'yes']) {
      const refused = await browser.submit(page, { ...fields, confirmation }, which);
      t.equal(refused.status, 400, `“${confirmation}” is no confirmation`);
      t.equal(heading(refused), heading(page), 'it is asked again');
    }
    const bare = page.html.replaceAll(/<input[^>]*name="confirmation"[^>]*>/g, '');
    t.equal((await browser.submit({ ...page, html: bare }, fields, which)).status, 400);
    t.same(await state(), before, 'without the confirmation nothing changes');

    const response = { ...fields, ...(name === undefined ? {} : { confirmation: name }) };
    const done = await browser.submit(page, response, which);
    t.equal(done.status, 200, heading(done) ?? '');
    t.not(JSON.stringify(await state()), JSON.stringify(before), 'with it, it is done');
  });
}

t.test('a machine is trusted with the scopes that the page named, and no others', async (t) => {
  const { client_id: id } = await machine('Grows');
  const path = `${applications}/${id}`;
  const page = await browser.get(`/dashboard/applications/${id}/trust`);
  t.match(page.html, '<strong>read:data</strong>');
  await built.call('PATCH', path, 'admin', { scopes: ['read:data', 'write:data'] });
  const which = `action="/dashboard/applications/${id}/trust"`;
  const again = await browser.submit(page, {}, which);
  t.equal(again.status, 400);
  t.match(again.html, /changed.*<strong>read:data write:data<\/strong>/s, 'it says what has become of it');
  t.match(await read(path), { trusted: false });
  t.equal((await browser.submit(again, {}, which)).status, 200);
  t.match(await read(path), { trusted: true, scopes: ['read:data', 'write:data'] });
});
