import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import t from 'tap';
import { createApi, type ServiceUrls } from '../src/api/api.ts';
import type { ApiError } from '../src/api/api-error.ts';
import { build } from './build.ts';

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
  const { base } = built;
  const { browser } = await built.signedIn('ann');
  const cookie = `${COOKIE}=${browser.cookies('/dashboard').get(COOKIE)}`;
  const ask = (path: string, headers: Record<string, string>) =>
    fetch(base + path, { headers: { cookie, ...headers } });

  await t.test('a path has one spelling', async (t) => {
    // Not by fetch(), which normalizes what it sends.
    const statusOf = async (path: string) => {
      const sent = request(base, { path, headers: { cookie } }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    };
    t.equal(await statusOf('/dashboard/items'), 200);
    const others = ['', '/items/', '//items', '/%69tems', '/items/%2e%2e', '/users/%2E%2E', '/orders/.'];
    for (const path of others) t.equal(await statusOf(`/dashboard${path || '/'}`), 404, path);
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
});
