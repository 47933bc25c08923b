import { randomBytes } from 'node:crypto';
import t from 'tap';
import { DASHBOARD_CLIENT } from '../../../src/core/oidc/clients/client-metadata.ts';
import { authorizeUrl, build, WEB } from '../../build.ts';
import { staleToken, tokensFor } from '../../tokens.ts';
import { enterPassword, enterRecoveryCode, withApp } from '../authenticator-app/app.ts';
import { signInBy, startUpstream, verified } from '../identity-providers/upstream.ts';

const masterKey = randomBytes(32);
const upstream = await startUpstream(t);
const built = await build(t, {
  masterKey,
  config: { freshSignIn: 'on', identityProviders: upstream.settings() },
});
upstream.start(built.base);

t.test('what is dangerous takes a sign-in of the last five minutes (RFC 9470 §3)', async (t) => {
  const fresh = await built.login('admin');
  const { client_id } = await built.createApplication(fresh, {
    ...{ name: 'Mine', type: 'machine', scopes: ['read:data'] },
  });
  const stale = await staleToken(built, masterKey, fresh);
  const { body } = await built.call('GET', '/api/v1/signing-keys', stale);
  const current = (body.data as { kid: string; state: string }[]).filter((it) => it.state === 'current');
  const other = await withApp(built, 'factory');
  const factors = await built.call('GET', `/api/v1/factors?user_id=${other.id}`, fresh);
  const [{ id: app }] = factors.body.data as [{ id: string }];
  await tokensFor(built, { username: 'ann' });
  const requests: [method: string, path: string, body?: object][] = [
    ['POST', '/api/v1/signing-keys/rotate', { kids: current.map(({ kid }) => kid), force: true }],
    ['POST', `/api/v1/applications/${client_id}/transfer`, { to: 'ann' }],
    ['POST', '/api/v1/identity-providers', { preset: 'github', client_id: 'us', client_secret: 'secret' }],
    ['PATCH', '/api/v1/identity-providers/github', { label: 'Octo' }],
    ['DELETE', '/api/v1/identity-providers/github'],
    ['POST', `/api/v1/applications/${client_id}/members`, { user: 'factory', role: 'viewer' }],
    ['POST', '/api/v1/factors/set-up-links', { user_id: other.id }],
    ['DELETE', `/api/v1/factors/${app}?user_id=${other.id}`],
    ['POST', '/api/v1/password-resets', { user_id: built.people.ann.id }],
    ['DELETE', `/api/v1/consents/${WEB.client_id}?user_id=${built.people.ann.id}`],
    ['DELETE', '/api/v1/sessions'],
  ];
  for (const [method, path, sent] of requests) {
    const { status, headers } = await built.call(method, path, stale, sent);
    t.equal(status, 401, path);
    t.match(
      headers.get('www-authenticate'),
      /^Bearer .*error="insufficient_user_authentication".*max_age="300", resource_metadata=/,
    );
  }
  for (const [method, path, sent] of requests) {
    t.ok((await built.call(method, path, fresh, sent)).status < 300, path);
  }
});

const redirect_uri = `${built.base}/dashboard/signed-in`;
const dashboard = { client_id: DASHBOARD_CLIENT, client_secret: built.serviceSecret };
const toDashboard = (more: Record<string, string> = {}) =>
  authorizeUrl({ client_id: DASHBOARD_CLIENT, redirect_uri, scope: 'openid manage:apps', ...more });

/** The tokens that the dashboard gets at the end of a sign-in. */
async function tokensOf({ url }: { url: URL }) {
  const code = url.searchParams.get('code') ?? '';
  const { body } = await built.form({ grant_type: 'authorization_code', code, redirect_uri, ...dashboard });
  const { body: refreshed } = await built.form({
    ...{ grant_type: 'refresh_token', refresh_token: String(body.refresh_token), ...dashboard },
  });
  return [String(body.access_token), String(refreshed.access_token)];
}

const endSessions = async (token = '') => (await built.call('DELETE', '/api/v1/sessions', token)).status;

t.test('a session at another provider makes no fresh sign-in of the dashboard', async (t) => {
  const visitor = built.browser();
  const page = await signInBy(upstream, visitor, verified('rosa'), toDashboard());
  for (const token of await tokensOf(page)) {
    t.equal((await built.call('GET', '/api/v1/sessions', token)).status, 200);
    t.equal(await endSessions(token), 401, 'the provider has asked nobody');
  }
  const again = await signInBy(upstream, visitor, verified('rosa'), toDashboard({ prompt: 'login' }));
  t.equal(await endSessions((await tokensOf(again)).at(-1)), 204, 'it was asked to');
});

t.test('a remembered browser makes no fresh sign-in of the dashboard', async (t) => {
  const { codes } = await withApp(built, 'rita');
  const visitor = built.browser();
  const asked = await enterPassword(visitor, 'rita');
  const remember = { recovery_code: codes[0] ?? '', remember_browser: 'yes' };
  await visitor.submit(asked, remember, 'name="recovery_code"');
  await visitor.submit(await visitor.get('/account'), {}, 'sign-out');
  for (const token of await tokensOf(await enterPassword(visitor, 'rita', toDashboard()))) {
    t.equal(await endSessions(token), 401, 'without a code');
  }
  const again = await enterPassword(visitor, 'rita', toDashboard({ prompt: 'login' }));
  const page = await enterRecoveryCode(visitor, again, codes[1] ?? '');
  t.equal(await endSessions((await tokensOf(page)).at(-1)), 204, 'with one');
});
