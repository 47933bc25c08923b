import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { formsOf } from '@gatehouse/testing/form-browser';
import { createConnection } from 'mongoose';
import t from 'tap';
import { createApi, type ServiceUrls } from '../../src/api/api.ts';
import type { ApiError } from '../../src/api/api-error.ts';
import { build, heading } from '../build.ts';

const COOKIE = 'gatehouse_dashboard_session';

t.test('an id that would lead to another path of the API is asked of nobody', async (t) => {
  const origin = 'http://127.0.0.1:1';
  const serviceUrls = { identity: origin, users: origin, items: origin } as ServiceUrls;
  const cause = { requestId: 'r', address: '203.0.113.1', userAgent: '' };
  const api = createApi({ serviceUrls, scheme: 'http' })(async () => 'token', cause);
  for (const path of [
    '/api/v1/items/..',
    '/api/v1/items/.',
    '/api/v1/items/../users',
    '/api/v1/items/%2e%2e',
  ]) {
    await t.rejects(api.get(path), { status: 404 } as ApiError, path);
  }
});

t.test('requests for pages of the dashboard', async (t) => {
  const built = await build(t);
  const { base, config } = built;
  const { browser } = await built.signedIn('ann');
  const cookieOf = (it: typeof browser) => `${COOKIE}=${it.cookies('/dashboard').get(COOKIE)}`;
  const cookie = cookieOf(browser);
  const ask = (path: string, headers: Record<string, string> = {}, fields?: Record<string, string>) =>
    fetch(base + path, {
      redirect: 'manual',
      headers: { cookie, ...headers },
      ...(fields && { method: 'POST', body: new URLSearchParams(fields) }),
    });

  await t.test('a path has one spelling', async (t) => {
    // Not by fetch(), which normalizes what it sends.
    const sentOn = async (path: string) => {
      const sent = request(base, { path, headers: { cookie } }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      response.resume();
      return [response.statusCode, response.headers.location];
    };
    const statusOf = async (path: string) => (await sentOn(path))[0];
    t.equal(await statusOf('/dashboard/items'), 200);
    t.same(await sentOn('/dashboard/?range=7d'), [308, '/dashboard?range=7d'], 'as people type it');
    t.same(await sentOn('/docs/'), [308, '/docs']);
    const others = ['//', '/items/', '//items', '/%69tems', '/items/%2e%2e', '/users/%2E%2E', '/orders/.'];
    for (const path of others) t.equal(await statusOf(`/dashboard${path}`), 404, path);
  });

  await t.test('no window of another site keeps a hold of a page', async (t) => {
    for (const path of ['/dashboard', '/dashboard/signed-out', '/', '/dashboard/nothing']) {
      t.equal(
        (await ask(path, { accept: 'text/html' })).headers.get('cross-origin-opener-policy'),
        'same-origin',
        path,
      );
    }
  });

  await t.test('automatic refreshes neither extend a session nor begin one', async (t) => {
    const database = await createConnection(config.mongodbUri).asPromise();
    t.teardown(() => database.close());
    const sessions = database.collection('sessions');
    const soon = new Date(Date.now() + 600_000);
    await sessions.updateMany({}, { $set: { expires_at: soon } });
    const polling = { 'x-polling': 'true', 'hx-request': 'true' };
    t.equal((await ask('/dashboard/items', polling)).status, 200);
    t.same((await sessions.findOne())?.expires_at, soon);
    t.equal((await ask('/dashboard/items')).status, 200);
    t.ok((await sessions.findOne())?.expires_at > soon, 'a person’s request does');
    t.equal((await ask('/dashboard/items', { ...polling, cookie: `${COOKIE}=ended` })).status, 401);
  });

  await t.test(
    'what was typed is kept when the session ends, and is sent again after signing in',
    async (t) => {
      const typed = {
        name: 'kept "item"',
        value: '{"a":\r\n1}',
        tag: '<b>',
        password: 'p4ssw0rd!',
        csrf: 'earlier',
      };
      const ours = { 'sec-fetch-site': 'same-origin' };
      const ended = await ask('/dashboard/items/new', { ...ours, cookie: `${COOKIE}=ended` }, typed);
      t.equal(ended.status, 401);
      const html = await ended.text();
      t.match(html, 'href="/dashboard/sign-in?to=%2Fdashboard%2Fitems%2Fnew" target="_blank"');
      const [again] = formsOf(html);
      const { name, value, tag } = typed;
      t.same(again?.fields, { csrf: '', name, value, tag });
      t.equal(again?.action, '/dashboard/items/new');
      t.notMatch(html, typed.password);

      const current = await built.signedIn('ann');
      const signedIn = { ...ours, cookie: cookieOf(current.browser) };
      const asked = await ask('/dashboard/items/new', signedIn, again?.fields);
      t.equal(asked.status, 403, 'nothing is done without the token of the session');
      const confirm = await asked.text();
      t.match(confirm, 'You are signed in as <bdi>ann</bdi>');
      const [fresh] = formsOf(confirm);
      const saved = await ask('/dashboard/items/new', signedIn, fresh?.fields);
      t.equal(saved.status, 303);
      const item = await fetch(new URL(saved.headers.get('location') ?? '', base), { headers: signedIn });
      t.match(await item.text(), 'kept &quot;item&quot;');
    },
  );

  await t.test('after signing in, one goes on to the nearest page of a form', async (t) => {
    const cases = [
      ['/dashboard/items/itm_1/delete', '/dashboard/items/itm_1/delete'],
      ['/dashboard/queues/change', '/dashboard/queues'],
      ['/dashboard/users/usr_1/sessions/end', '/dashboard/users/usr_1'],
    ] as const;
    for (const [path, to] of cases) {
      const ended = await ask(path, { cookie: '', 'sec-fetch-site': 'same-origin' }, { name: 'x' });
      t.match(await ended.text(), `/dashboard/sign-in?${new URLSearchParams({ to })}"`, path);
    }
  });

  await t.test('requests of another site are never shown as a form to send again', async (t) => {
    for (const site of ['cross-site', 'same-site', 'none', '']) {
      for (const [sent, status] of [
        [cookie, 403],
        ['', 401],
      ] as const) {
        const headers = { cookie: sent, ...(site === '' ? {} : { 'sec-fetch-site': site }) };
        const response = await ask('/dashboard/items/new', headers, { name: 'planted', csrf: 'x' });
        const html = await response.text();
        t.equal(response.status, status, site);
        t.notMatch(html, 'planted', site);
        t.same(formsOf(html), [], site);
      }
    }
  });

  await t.test('a few forms without a session are read at a time', async (t) => {
    const headers = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' };
    const path = '/dashboard/items/new';
    const slow = Array.from({ length: 64 }, () => {
      const sent = request(base, { path, method: 'POST', headers, agent: false }).on('error', () => {});
      sent.write('name=slow');
      return sent;
    });
    t.teardown(() => slow.map((sent) => sent.destroy()));
    const kept = async () => {
      const response = await ask(path, { cookie: '', 'sec-fetch-site': 'same-origin' }, { name: 'kept' });
      t.equal(response.status, 401);
      return formsOf(await response.text())[0]?.fields.name;
    };
    while ((await kept()) !== undefined) await sleep(50);
    for (const sent of slow) sent.destroy();
    while ((await kept()) !== 'kept') await sleep(50);
  });

  await t.test('a session that ends while a form is being worked on keeps what was typed', async (t) => {
    const form = await browser.get('/dashboard/items/new');
    await built.call('PUT', `/v2/users/${built.people.ann.id}/status`, 'admin', { status: 'inactive' });
    const kept = await browser.submit(form, { name: 'kept', value: '1' }, 'name="value"');
    t.equal(kept.status, 401);
    t.equal(heading(kept), 'Your session has ended');
    t.match(formsOf(kept.html)[0]?.fields, { name: 'kept', value: '1' });
    await built.call('PUT', `/v2/users/${built.people.ann.id}/status`, 'admin', { status: 'active' });
  });
});
