import { randomBytes } from 'node:crypto';
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import t from 'tap';
import { build, MACHINE, PASSWORD, WEB } from '../../build.ts';
import { dpopKey, keyOf } from '../../tokens.ts';
import { CALLBACK, fapiClient } from './fapi2.ts';

// Each test names the requirement of the FAPI 2.0 Security Profile (Final, 22 February 2025) by section and item.

const built = await build(t, {
  // What the profile does not allow, where the deployment may choose.
  config: {
    accessTokenAlgorithm: 'RS256',
    lifetimes: { accessToken: 600, code: 300, refreshToken: 2_592_000, session: 1_209_600 },
  },
});
const { base, call, form } = built;
const client = await fapiClient(built);
const browser = built.browser();
const now = () => Math.floor(Date.now() / 1000);

/** The response of a client that authenticates with this assertion. */
const grant = { grant_type: 'refresh_token', refresh_token: 'none' };
async function errorFor(claims: Record<string, unknown>): Promise<unknown> {
  const { body } = await form(await client.authenticated(grant, claims), await client.proof('/oauth2/token'));
  return body.error;
}

t.test('5.3.2.1, 1: metadata says how (RFC 8414, OpenID Connect Discovery)', async (t) => {
  for (const path of ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']) {
    const { status, body } = await call('GET', path);
    t.equal(status, 200);
    t.match(body, { issuer: base, pushed_authorization_request_endpoint: `${base}/oauth2/par` });
    t.same(body.code_challenge_methods_supported, ['S256']);
    for (const [name, values] of [
      ['token_endpoint_auth_methods_supported', ['private_key_jwt']],
      ['token_endpoint_auth_signing_alg_values_supported', ['PS256', 'ES256', 'EdDSA']],
      ['dpop_signing_alg_values_supported', ['ES256', 'EdDSA']],
      ['id_token_signing_alg_values_supported', ['ES256']],
    ] as [string, string[]][]) {
      for (const value of values) t.ok((body[name] as string[]).includes(value), `${name}: ${value}`);
    }
    t.notOk((body.dpop_signing_alg_values_supported as string[]).includes('none'));
  }
});

t.test('5.3.2.1, 2: no password grant', async (t) => {
  const password = { grant_type: 'password', username: 'ann', password: PASSWORD, scope: 'openid' };
  const { status, body } = await form(
    await client.authenticated(password),
    await client.proof('/oauth2/token'),
  );
  t.match({ status, body }, { status: 400, body: { error: 'unsupported_grant_type' } });
});

t.test('5.3.2.1, 3 and 6: confidential clients, which authenticate by private_key_jwt alone', async (t) => {
  t.match(client.made, { token_endpoint_auth_method: 'private_key_jwt', client_secret: undefined });
  const admin = await built.login('admin');
  const added = await call('POST', `/api/v1/applications/${client.id}/secrets`, admin, {});
  const { client_secret } = added.body as { client_secret?: string };
  const secret = client_secret ?? 'x'.repeat(43);
  for (const [name, more, headers] of [
    ['a secret', { client_id: client.id, client_secret: secret }, {}],
    ['Basic', {}, { authorization: `Basic ${btoa(`${client.id}:${secret}`)}` }],
    ['an empty secret by Basic', {}, { authorization: `Basic ${btoa(`${client.id}:`)}` }],
    ['nothing', { client_id: client.id }, {}],
  ] as [string, Record<string, string>, Record<string, string>][]) {
    const token = await form({ ...grant, ...more }, { ...(await client.proof('/oauth2/token')), ...headers });
    t.match(token, { status: 401, body: { error: 'invalid_client' } }, name);
    const pushed = await form({ ...client.request, ...more }, headers, '/oauth2/par');
    t.match(pushed, { status: 401, body: { error: 'invalid_client' } }, `${name}, pushed`);
  }
});

t.test('5.3.2.1, 4 and 5: access tokens are bound to a key by DPoP', async (t) => {
  const tokens = await client.tokens(browser);
  t.equal(tokens.token_type, 'DPoP');
  t.match(decodeJwt(tokens.access_token), { cnf: { jkt: client.dpop.thumbprint } });
  const without = await client.exchange(await client.authorize(browser), {});
  t.match(without, { status: 400, body: { error: 'invalid_grant' } }, 'an exchange without a proof');
  const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
  t.match(await form(await client.authenticated(refresh)), { status: 400, body: { error: 'invalid_grant' } });
  const key = await dpopKey();
  const again = await form(await client.authenticated(refresh), await client.proof('/oauth2/token', key));
  t.match(decodeJwt(String(again.body.access_token)), { cnf: { jkt: key.thumbprint } }, 'a refresh');
});

t.test('5.3.2.1, 7: no open redirector', async (t) => {
  for (const redirect_uri of ['https://evil.example/', `${CALLBACK}/`, `${CALLBACK}?x=1`]) {
    const pushed = await client.push({ ...client.request, redirect_uri });
    t.match(pushed, { status: 400, body: { error: 'invalid_request' } }, redirect_uri);
  }
  const { url, status } = await browser.get(
    client.urlFor('urn:ietf:params:oauth:request_uri:none', {
      redirect_uri: 'https://evil.example/',
    }),
  );
  t.equal(url.origin, base);
  t.equal(status, 400);
});

t.test('5.3.2.1, 8: the aud of an assertion is our issuer, as one string', async (t) => {
  t.equal(await errorFor({}), 'invalid_grant', 'the client is authenticated');
  for (const aud of [
    [base],
    [base, `${base}/oauth2/token`],
    `${base}/oauth2/token`,
    `${base}/oauth/token`,
    `${base}/oauth2/par`,
    `${base}/`,
    'https://evil.example',
    undefined,
  ]) {
    t.equal(await errorFor({ aud }), 'invalid_client', JSON.stringify(aud));
    const pushed = await client.push(client.request, {}, { aud });
    t.match(pushed, { status: 401, body: { error: 'invalid_client' } }, `${JSON.stringify(aud)}, pushed`);
  }
});

t.test('5.3.2.1, 9: refresh tokens are not rotated', async (t) => {
  const { refresh_token } = await client.tokens(browser);
  for (let i = 0; i < 2; i += 1) {
    const again = await form(
      await client.authenticated({ grant_type: 'refresh_token', refresh_token }),
      await client.proof('/oauth2/token'),
    );
    t.equal(again.status, 200);
    t.notOk('refresh_token' in again.body);
  }
});

t.test('5.3.2.1, 11: codes live 60 s at most, whatever the setting is', async (t) => {
  const callback = await client.authorize(browser);
  const database = await built.database();
  const code = await database
    .collection<{ _id: string; expires_at: Date }>('oidc_authorization_codes')
    .findOne({ _id: keyOf(callback.searchParams.get('code') ?? '') });
  t.ok(Number(code?.expires_at) <= Date.now() + 60_000);
});

t.test('5.3.2.1, 12: a code is bound to the DPoP key of its request (RFC 9449 §10)', async (t) => {
  const other = await dpopKey();
  const bound = { ...client.request, dpop_jkt: client.dpop.thumbprint };
  const byOther = () => client.proof('/oauth2/token', other);
  for (const [name, callback] of [
    ['by dpop_jkt', () => client.authorize(browser, bound)],
    [
      'by a proof at the PAR endpoint',
      async () => client.authorize(browser, client.request, await client.proof('/oauth2/par')),
    ],
  ] as [string, () => Promise<URL>][]) {
    const refused = await client.exchange(await callback(), await byOther());
    t.match(refused, { status: 400, body: { error: 'invalid_grant' } }, `${name}: another key`);
    t.match(await client.exchange(await callback()), { status: 200 }, `${name}: its own`);
  }
  const mismatch = await client.push(
    { ...client.request, dpop_jkt: other.thumbprint },
    await client.proof('/oauth2/par'),
  );
  t.match(mismatch, { status: 400, body: { error: 'invalid_request' } });
});

t.test('5.3.2.1, 13: clocks may differ by 10 s, and not by more than 60 s', async (t) => {
  for (const [name, claims, error] of [
    ['iat 10 s ahead', { iat: now() + 10 }, 'invalid_grant'],
    ['nbf 10 s ahead', { nbf: now() + 10 }, 'invalid_grant'],
    ['iat 65 s ahead', { iat: now() + 65, exp: now() + 120 }, 'invalid_client'],
    ['nbf 65 s ahead', { nbf: now() + 65, exp: now() + 120 }, 'invalid_client'],
    ['iat an hour ahead', { iat: now() + 3600, exp: now() + 3700 }, 'invalid_client'],
  ] as const) {
    t.equal(await errorFor(claims), error, name);
  }
  const proofAt = (iat: number) => client.dpop.proof('POST', `${base}/oauth2/token`, undefined, iat);
  const refresh = await client.authenticated(grant);
  t.match((await form(refresh, { dpop: await proofAt(now() + 10) })).body, { error: 'invalid_grant' });
  const ahead = await form(await client.authenticated(grant), { dpop: await proofAt(now() + 65) });
  t.match(ahead, { status: 400, body: { error: 'invalid_dpop_proof' } });
});

t.test('5.3.2.1, 14: a token carries no more than was asked for', async (t) => {
  const callback = await client.authorize(browser, { ...client.request, scope: 'openid' });
  const { body } = await client.exchange(callback);
  t.equal(body.scope, 'openid');
  t.equal(decodeJwt(String(body.access_token)).scope, 'openid');
});

t.test('5.3.2.2, 1: the response type is code', async (t) => {
  for (const response_type of ['id_token token', 'code id_token', 'token', 'none']) {
    const { status, body } = await client.push({ ...client.request, response_type });
    t.equal(status, 400, response_type);
    t.match(body.error, /^(?:unsupported_response_type|invalid_request)$/);
  }
});

t.test('5.3.2.2, 2, 3 and 4: requests are pushed (RFC 9126), by an authenticated client', async (t) => {
  const callback = await client.authorize(browser);
  t.ok(callback.searchParams.has('code'));
  const direct = await browser.get(
    `/oauth2/authorize?${new URLSearchParams({ ...client.request, client_id: client.id })}`,
  );
  t.equal(direct.url.searchParams.get('error'), 'invalid_request', 'sent without PAR');
  const unauthenticated = await form({ ...client.request, client_id: client.id }, {}, '/oauth2/par');
  t.match(unauthenticated, { status: 401, body: { error: 'invalid_client' } });
  const pushed = await client.push();
  const outside = client.urlFor(pushed.body.request_uri, {
    scope: 'openid',
    state: 'forged',
    redirect_uri: 'https://evil.example/',
  });
  const { url } = await browser.get(outside);
  t.equal(url.origin + url.pathname, CALLBACK, 'what is beside the request_uri counts for nothing');
  t.equal(url.searchParams.get('state'), 'some-state');
});

t.test('5.3.2.2, 5: PKCE with S256', async (t) => {
  for (const [name, parameters] of [
    ['none', client.without('code_challenge', 'code_challenge_method')],
    ['plain', { ...client.request, code_challenge_method: 'plain' }],
    ['no method', client.without('code_challenge_method')],
  ] as const) {
    t.match(await client.push(parameters), { status: 400, body: { error: 'invalid_request' } }, name);
  }
  for (const code_verifier of [randomBytes(32).toString('base64url'), '']) {
    const refused = await client.exchange(await client.authorize(browser), undefined, { code_verifier });
    t.match(refused, { status: 400, body: { error: 'invalid_grant' } });
  }
});

t.test('5.3.2.2, 6: redirect_uri is required, though only one is registered', async (t) => {
  const pushed = await client.push(client.without('redirect_uri'));
  t.match(pushed, { status: 400, body: { error: 'invalid_request' } });
});

t.test('5.3.2.2, 7: the response names its issuer (RFC 9207), an error too', async (t) => {
  t.equal((await client.authorize(browser)).searchParams.get('iss'), base);
  const failed = await client.authorize(built.browser(), { ...client.request, prompt: 'none' });
  t.match(Object.fromEntries(failed.searchParams), {
    error: 'login_required',
    iss: base,
    state: 'some-state',
  });
});

t.test('5.3.2.2, 9: a code works once', async (t) => {
  const callback = await client.authorize(browser);
  const first = await client.exchange(callback);
  t.equal(first.status, 200);
  t.match(await client.exchange(callback), { status: 400, body: { error: 'invalid_grant' } });
  const proof = await client.dpop.proof('GET', `${base}/userinfo`, String(first.body.access_token));
  const headers = { authorization: `DPoP ${first.body.access_token}`, dpop: proof };
  t.equal((await fetch(`${base}/userinfo`, { headers })).status, 401, 'and its tokens end');
});

t.test('5.3.2.2, 10 and 11: the browser is redirected with 303', async (t) => {
  const { body } = await client.push();
  const response = await fetch(base + client.urlFor(body.request_uri), { redirect: 'manual' });
  t.equal(response.status, 303);
});

t.test('5.3.2.2, 12: a request_uri lives for less than 600 s', async (t) => {
  const { body } = await client.push();
  t.ok(Number(body.expires_in) > 0 && Number(body.expires_in) < 600);
});

t.test('5.3.2.2, 13: people see the application and the scopes that it requests', async (t) => {
  const { body } = await client.push();
  const stranger = built.browser();
  let page = await stranger.get(client.urlFor(body.request_uri));
  page = await stranger.submit(page, { username: 'ann', password: PASSWORD });
  for (const part of [
    'Fapi',
    'fapi.example.org',
    'See your email address',
    'Read items, products, your own orders',
  ]) {
    t.match(page.html, part);
  }
});

t.test('5.3.2.2, 14: a nonce of 64 characters', async (t) => {
  const nonce = 'n'.repeat(64);
  const { body } = await client.exchange(await client.authorize(browser, { ...client.request, nonce }));
  t.equal(decodeJwt(String(body.id_token)).nonce, nonce);
});

t.test('5.3.2.3: the identifier of the person is in an ID token', async (t) => {
  const { id_token } = await client.tokens(browser);
  const keys = createRemoteJWKSet(new URL(`${base}/.well-known/jwks.json`));
  const { payload } = await jwtVerify(id_token, keys, {
    issuer: base,
    audience: client.id,
    algorithms: ['ES256'],
  });
  t.match(payload, { sub: built.people.ann.id, nonce: 'some-nonce', email_verified: true });
});

t.test('5.3.4: what a resource server of ours takes', async (t) => {
  const { access_token: token } = await client.tokens(browser);
  const url = `${base}/userinfo`;
  const proof = () => client.dpop.proof('GET', url, token);
  const get = async (headers: Record<string, string>, query = '') =>
    (await fetch(url + query, { headers })).status;
  t.equal(await get({ authorization: `DPoP ${token}`, dpop: await proof() }), 200, '1: in the header');
  t.equal(await get({ dpop: await proof() }, `?access_token=${token}`), 401, '2: not in the query');
  const form = new URLSearchParams({ access_token: token });
  const posted = await fetch(url, {
    method: 'POST',
    body: form,
    headers: { dpop: await client.dpop.proof('POST', url, token) },
  });
  t.equal(posted.status, 401, '1: not in a form');
  t.equal(
    await get({ authorization: `DPoP ${token.slice(0, -4)}AAAA`, dpop: await proof() }),
    401,
    '3: integrity',
  );
  t.equal(await get({ authorization: `Bearer ${token}` }), 401, '5: not without its key');
  const other = await dpopKey();
  t.equal(
    await get({ authorization: `DPoP ${token}`, dpop: await other.proof('GET', url, token) }),
    401,
    '5: another',
  );
  const users = `${base}/v1/users`;
  const headers = { authorization: `DPoP ${token}`, dpop: await client.dpop.proof('GET', users, token) };
  t.equal((await fetch(users, { headers })).status, 403, '4: what is not allowed');
  const revoked = await client.authenticated({ token });
  t.equal((await built.form(revoked, {}, '/oauth2/revoke')).status, 200);
  t.equal(await get({ authorization: `DPoP ${token}`, dpop: await proof() }), 401, '3: revoked');
});

t.test('5.4.1, 1: PS256, ES256 and EdDSA, and nothing else', async (t) => {
  for (const [alg, error] of [
    ['PS256', 'invalid_grant'],
    ['ES256', 'invalid_grant'],
    ['EdDSA', 'invalid_grant'],
    ['RS256', 'invalid_client'],
  ] as const) {
    const { authenticated, proof } = await fapiClient(built, { alg });
    const { body } = await form(await authenticated(grant), await proof('/oauth2/token'));
    t.equal(body.error, error, `an assertion with ${alg}`);
  }
  const unsigned = `${btoa('{"alg":"none"}').replaceAll('=', '')}.${(await client.assertion()).split('.')[1]}.`;
  const { body } = await form({ ...(await client.authenticated(grant)), client_assertion: unsigned });
  t.equal(body.error, 'invalid_client', 'none');
  const tokens = await client.tokens(browser);
  for (const token of [tokens.access_token, tokens.id_token])
    t.equal(decodeProtectedHeader(token).alg, 'ES256');
  const others = await form({ grant_type: 'client_credentials', ...MACHINE });
  t.equal(
    decodeProtectedHeader(String(others.body.access_token)).alg,
    'RS256',
    'others have what the setting says',
  );
  const rsa = await dpopKey('RS256');
  const refused = await form(await client.authenticated(grant), await client.proof('/oauth2/token', rsa));
  t.match(refused, { status: 400, body: { error: 'invalid_dpop_proof' } });
});

t.test('5.4.1, 4: 128 bits of entropy', async (t) => {
  const callback = await client.authorize(browser);
  const code = callback.searchParams.get('code') ?? '';
  const { refresh_token } = (await client.exchange(callback)).body;
  const { request_uri } = (await client.push()).body;
  for (const credential of [code, refresh_token, request_uri]) t.match(credential, /[\w-]{22,}$/);
});

t.test('5.4.2: no two keys with the same kid', async (t) => {
  const { body } = await call('GET', '/.well-known/jwks.json');
  const kids = (body.keys as { kid: string }[]).map(({ kid }) => kid);
  t.equal(new Set(kids).size, kids.length);
  const { x5u, jku } = decodeProtectedHeader((await client.tokens(browser)).access_token);
  t.same([x5u, jku], [undefined, undefined]);
});

t.test('5.2.3, 3: no CORS at the authorization endpoint', async (t) => {
  const headers = { origin: new URL(CALLBACK).origin };
  for (const method of ['GET', 'OPTIONS']) {
    const { body } = await client.push();
    const response = await fetch(base + client.urlFor(body.request_uri), {
      method,
      headers,
      redirect: 'manual',
    });
    t.equal(response.headers.get('access-control-allow-origin'), null, method);
  }
});

t.test('client credentials under the profile', async (t) => {
  const machine = await fapiClient(built, { type: 'machine' });
  const ask = { grant_type: 'client_credentials', scope: 'read:users' };
  const unbound = await form(await machine.authenticated(ask));
  t.match(unbound, { status: 400, body: { error: 'invalid_grant' } });
  const { status, body } = await form(await machine.authenticated(ask), await machine.proof('/oauth2/token'));
  t.match({ status, body }, { status: 200, body: { token_type: 'DPoP' } });
  const url = `${base}/v1/users`;
  const token = String(body.access_token);
  const headers = { authorization: `DPoP ${token}`, dpop: await machine.dpop.proof('GET', url, token) };
  t.equal((await fetch(url, { headers })).status, 200);
});

t.test('others are not held to it', async (t) => {
  const { status, body } = await form({
    ...{
      grant_type: 'client_credentials',
      client_id: MACHINE.client_id,
      client_secret: MACHINE.client_secret,
    },
  });
  t.match({ status, body }, { status: 200, body: { token_type: 'Bearer' } });
  const page = await built
    .browser()
    .get(
      `/oauth2/authorize?${new URLSearchParams({ client_id: WEB.client_id, redirect_uri: WEB.redirect_uri, response_type: 'code', scope: 'openid' })}`,
    );
  t.match(page.url.pathname, /^\/sign-in\//);
});
