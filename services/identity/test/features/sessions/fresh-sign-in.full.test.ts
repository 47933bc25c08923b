import { randomBytes } from 'node:crypto';
import { decodeJwt } from 'jose';
import t from 'tap';
import { DASHBOARD_CLIENT } from '../../../src/core/oidc/clients/client-metadata.ts';
import { authorizeUrl, build, WEB } from '../../build.ts';
import { isSignIn } from '../../pages.ts';
import { pkce, staleToken } from '../../tokens.ts';
import { enterPassword, enterRecoveryCode, withApp } from '../authenticator-app/app.ts';
import { leave, signInBy, startUpstream, verified } from '../identity-providers/upstream.ts';

const masterKey = randomBytes(32);
const upstream = await startUpstream(t);
const built = await build(t, {
  masterKey,
  config: { freshSignIn: 'on', identityProviders: upstream.settings() },
});
upstream.start(built.base);

const CHALLENGE = /^Bearer .*error="insufficient_user_authentication".*max_age="300", resource_metadata=/;

t.test(
  'every change by an API for people takes a sign-in of the last five minutes (RFC 9470 §3)',
  async (t) => {
    const fresh = await built.login('admin');
    const stale = await staleToken(built, masterKey, fresh);
    const { paths } = (await (await fetch(`${built.base}/openapi/identity.json`)).json()) as OpenApi;
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { description = '' }]) => description.includes('manage:apps'))
        .map(([method]) => ({ method: method.toUpperCase(), path: path.replaceAll(/\{\w+\}/g, 'none') })),
    );
    t.ok(operations.filter(({ method }) => method !== 'GET').length > 30, `${operations.length} operations`);
    for (const { method, path } of operations) {
      const challengeFor = async (token: string) =>
        (await built.call(method, path, token, method === 'GET' ? undefined : {})).headers.get(
          'www-authenticate',
        ) ?? '';
      if (method !== 'GET') t.match(await challengeFor(stale), CHALLENGE, `${method} ${path}`);
      else t.notMatch(await challengeFor(stale), CHALLENGE, `${method} ${path}`);
      if (path !== '/api/v1/sessions') t.notMatch(await challengeFor(fresh), CHALLENGE, `${method} ${path}`);
    }
  },
);

type OpenApi = { paths: Record<string, Record<string, { description?: string }>> };

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

t.test(
  'tokens of an application have no time of such sign-ins, which are older than any max_age',
  async (t) => {
    const { codes } = await withApp(built, 'olga');
    const remembered = built.browser();
    const asked = await enterPassword(remembered, 'olga');
    const remember = { recovery_code: codes[0] ?? '', remember_browser: 'yes' };
    await remembered.submit(asked, remember, 'name="recovery_code"');
    await remembered.submit(await remembered.get('/account'), {}, 'sign-out');
    const atProvider = built.browser();
    const { code_verifier, challenge } = pkce();
    const { client_id, redirect_uri } = WEB;
    const at = authorizeUrl({ client_id, redirect_uri, ...challenge });
    for (const [visitor, page] of [
      [atProvider, await signInBy(upstream, atProvider, verified('rosa'), at)],
      [remembered, await enterPassword(remembered, 'olga', at)],
    ] as const) {
      const code = (await visitor.submit(page, { decision: 'allow' })).url.searchParams.get('code');
      const { body } = await built.form({
        grant_type: 'authorization_code',
        code: String(code),
        code_verifier,
        ...WEB,
      });
      for (const token of [body.access_token, body.id_token])
        t.equal(decodeJwt(String(token)).auth_time, undefined);
      t.ok(isSignIn(await visitor.get(authorizeUrl({ client_id, redirect_uri, max_age: '300' }))));
    }
    const fresh = built.browser();
    const url = new URL(await leave(fresh, await fresh.get(authorizeUrl({ prompt: 'login' }))));
    t.equal(url.searchParams.get('max_age'), '0', 'the provider is asked, also where there is no session');
  },
);
