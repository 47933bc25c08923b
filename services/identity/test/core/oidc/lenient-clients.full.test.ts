import t from 'tap';
import { authorizeUrl, build, NATIVE, PASSWORD, SPA, signInAndAllow, WEB } from '../../build.ts';
import { pkce, refresh, tokensFor } from '../../tokens.ts';

const built = await build(t);
const { call, form, json } = built;
const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });

t.test('offline_access (OpenID Connect Core §11) is accepted where a refresh token is issued', async (t) => {
  const { body } = await call('GET', '/.well-known/openid-configuration');
  t.ok((body.scopes_supported as string[]).includes('offline_access'));
  const browser = built.browser();
  for (const client of [WEB, SPA]) {
    for (const prompt of [{}, { prompt: 'consent' }] as Record<string, string>[]) {
      const name = `${client.client_id} ${prompt.prompt ?? ''}`;
      const more = { scope: 'openid offline_access read:data', ...prompt };
      const tokens = await tokensFor(built, { browser, client, more });
      t.match(tokens, { refresh_token: String, scope: 'openid read:data' }, name);
      for (const [asked, granted] of [
        ['openid offline_access read:data', 'openid read:data'],
        ['offline_access', 'openid read:data'],
        ['offline_access openid', 'openid'],
      ] as const) {
        const latest: string = tokens.refresh_token;
        const again = await refresh(built, latest, client, { scope: asked });
        t.match(again, { status: 200, body: { scope: granted } }, `${name}: ${asked}`);
        tokens.refresh_token = String(again.body.refresh_token ?? latest);
      }
    }
  }
  const { refresh_token } = await tokensFor(built, { browser, more: { scope: 'openid' } });
  const asJson = { grant_type: 'refresh_token', refresh_token, scope: 'openid offline_access' };
  t.match(await json({ ...asJson, client_id: WEB.client_id, client_secret: WEB.client_secret }), {
    status: 200,
  });
  const beyond = await refresh(built, refresh_token, WEB, { scope: 'openid offline_access read:data' });
  t.match(beyond, { status: 400, body: { error: 'invalid_scope' } }, 'no door for other scopes');
});

t.test('nobody is asked about it, and it is in no grant', async (t) => {
  const browser = built.browser();
  const more = { scope: 'openid offline_access', prompt: 'login consent' };
  let page = await browser.get(authorizeUrl(more));
  page = await browser.submit(page, { username: 'ann', password: PASSWORD });
  t.match(page.url.pathname, /^\/consent\//);
  t.notMatch(page.html, 'offline_access');
});

t.test('a public client that sends Basic with an empty secret (RFC 6749 §2.3.1)', async (t) => {
  const { client_id, redirect_uri } = SPA;
  const headers = basic(`${client_id}:`);
  const browser = built.browser();
  const codeOf = async () => {
    const { code_verifier, challenge } = pkce();
    const { url } = await signInAndAllow(browser, authorizeUrl({ ...SPA, ...challenge }));
    return {
      grant_type: 'authorization_code',
      code: url.searchParams.get('code') ?? '',
      code_verifier,
      redirect_uri,
    };
  };
  for (const path of ['/oauth2/token', '/oauth/token']) {
    t.match(await form(await codeOf(), headers, path), { status: 200 }, path);
    t.match(await form({ ...(await codeOf()), client_id }, headers, path), { status: 200 }, 'named twice');
  }
  const { status, body } = await json(await codeOf(), headers);
  t.equal(status, 200, 'JSON');
  const refreshed = await form(
    { grant_type: 'refresh_token', refresh_token: String(body.refresh_token) },
    headers,
  );
  t.equal(refreshed.status, 200, 'a refresh');
  t.match(await form({ token: String(refreshed.body.access_token) }, headers, '/oauth2/revoke'), {
    status: 200,
  });
  t.equal((await call('GET', '/userinfo', String(refreshed.body.access_token))).status, 401, 'revoked');
  const { challenge } = pkce();
  const pushed = { response_type: 'code', scope: 'openid', redirect_uri, ...challenge };
  t.match(await form(pushed, headers, '/oauth2/par'), { status: 201 }, 'a pushed request');

  const grant = { grant_type: 'refresh_token', refresh_token: 'x' };
  for (const [name, text, more, error] of [
    ['a confidential client', `${WEB.client_id}:`, {}, 'invalid_client'],
    ['an unknown client', 'app_nobody:', {}, 'invalid_client'],
    ['no client', ':', {}, 'invalid_client'],
    ['a secret', `${client_id}:x`, {}, 'invalid_client'],
    ['another client_id in the form', `${client_id}:`, { client_id: NATIVE.client_id }, 'invalid_request'],
  ] as [string, string, Record<string, string>, string][]) {
    const response = await form({ ...grant, ...more }, basic(text));
    t.match(response, { status: error === 'invalid_client' ? 401 : 400, body: { error } }, name);
    if (response.status === 401) t.match(response.headers.get('www-authenticate'), /^Basic realm=/, name);
  }
});
