import { formsOf } from '@gatehouse/testing/form-browser';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import t from 'tap';
import { ALL_SCOPES, authorizeUrl, build, codeFor, NATIVE, SPA, signInAndAllow, WEB } from '../../build.ts';
import { dpopKey, pkce, refresh, tokensFor } from '../../tokens.ts';

const built = await build(t);
const { base, form, json, people } = built;
const grant_type = 'authorization_code';

t.test('the fields of each answer (interface.md 2.1)', async (t) => {
  const browser = built.browser();
  const code = await codeFor(browser);
  const exchanged = await json({ grant_type, code, ...WEB });
  t.equal(exchanged.status, 200);
  t.same(Object.keys(exchanged.body).sort(), [
    ...['access_token', 'expires_in', 'id_token', 'refresh_token', 'scope', 'token_type'],
  ]);
  t.match(exchanged.body, {
    access_token: /^ey/,
    token_type: 'Bearer',
    expires_in: 3600,
    refresh_token: /^[\w-]{43}$/,
    scope: ALL_SCOPES.join(' '),
  });
  t.equal(exchanged.headers.get('cache-control'), 'no-store');

  const { refresh_token: token } = exchanged.body;
  for (const send of [json, form]) {
    const { client_id, client_secret } = WEB;
    const reply = await send({
      grant_type: 'refresh_token',
      refresh_token: String(token),
      client_id,
      client_secret,
    });
    t.equal(reply.status, 200);
    t.notOk('refresh_token' in reply.body, 'the same refresh token is not given once more');
    t.same(Object.keys(reply.body).sort(), [
      ...['access_token', 'expires_in', 'id_token', 'scope', 'token_type'],
    ]);
    t.equal(reply.body.scope, ALL_SCOPES.join(' '));
  }

  const withoutOpenid = await codeFor(built.browser(), { scope: 'read:data' });
  const { body } = await form({ grant_type, code: withoutOpenid, ...WEB });
  t.same(Object.keys(body).sort(), ['access_token', 'expires_in', 'refresh_token', 'scope', 'token_type']);
  t.equal(body.scope, 'read:data');
});

t.test('the claims of the tokens', async (t) => {
  const { access_token, id_token } = await tokensFor(built, { more: { nonce: 'n-1' } });
  const keys = createRemoteJWKSet(new URL(`${base}/.well-known/jwks.json`));
  const access = await jwtVerify(access_token, keys, {
    issuer: base,
    audience: `${base}/api`,
    typ: 'at+jwt',
    algorithms: ['ES256'],
  });
  t.same(Object.keys(access.payload).sort(), [
    ...['acr', 'aud', 'auth_time', 'client_id', 'epoch', 'exp', 'gid', 'iat', 'iss', 'jti'],
    ...['roles', 'scope', 'sub'],
  ]);
  t.match(access.payload, {
    acr: 'urn:gatehouse:acr:single-factor',
    auth_time: Number,
    sub: people.ann.id,
    client_id: WEB.client_id,
    roles: ['user'],
    scope: ALL_SCOPES.join(' '),
    epoch: { client: 0, subject: Number },
  });
  const id = await jwtVerify(id_token, keys, {
    issuer: base,
    audience: WEB.client_id,
    algorithms: ['RS256'],
  });
  t.match(id.payload, {
    sub: people.ann.id,
    nonce: 'n-1',
    acr: 'urn:gatehouse:acr:single-factor',
    amr: ['pwd'],
    email: people.ann.email,
    email_verified: Boolean,
    preferred_username: 'ann',
  });
  t.notOk('updated_at' in id.payload, 'the rest is at /userinfo');
});

t.test('a refresh may narrow the scope, and the next is whole again', async (t) => {
  const { refresh_token } = await tokensFor(built);
  const narrow = await refresh(built, refresh_token, WEB, { scope: 'read:data openid' });
  t.same(new Set(String(narrow.body.scope).split(' ')), new Set(['openid', 'read:data']));
  t.same(decodeJwt(String(narrow.body.access_token)).scope, narrow.body.scope);
  const whole = await refresh(built, refresh_token);
  t.equal(whole.body.scope, ALL_SCOPES.join(' '));
  const none = await refresh(built, refresh_token, WEB, { scope: '' });
  t.equal(none.body.scope, ALL_SCOPES.join(' '), 'an empty scope counts as absent');
});

t.test('public clients: no secret, PKCE, rotated refresh tokens', async (t) => {
  for (const client of [SPA, NATIVE]) {
    const first = await tokensFor(built, { client });
    const second = await refresh(built, first.refresh_token, client);
    t.equal(second.status, 200, client.client_id);
    t.match(second.body, { refresh_token: /^[\w-]{43}$/ });
    t.not(second.body.refresh_token, first.refresh_token);
    t.match(await refresh(built, String(second.body.refresh_token), client), { status: 200 });
  }
});

t.test('PKCE (RFC 7636): S256 alone, and a must for public clients', async (t) => {
  const { code_verifier, challenge } = pkce();
  const browser = built.browser();
  const refused: [string, Record<string, string>][] = [
    ['none from a public client', SPA],
    ['none from a native client', NATIVE],
    ['plain', { ...SPA, code_challenge: code_verifier, code_challenge_method: 'plain' }],
    ['plain, as no method is named', { ...SPA, code_challenge: code_verifier }],
    ['plain from a confidential client', { code_challenge: code_verifier, code_challenge_method: 'plain' }],
    ['a method without a challenge', { ...SPA, code_challenge_method: 'S256' }],
    ['a method that is none', { ...SPA, ...challenge, code_challenge_method: 'S512' }],
    ['a challenge that is too short', { ...SPA, ...challenge, code_challenge: 'short' }],
    ['a challenge of other characters', { ...SPA, ...challenge, code_challenge: `${'x'.repeat(42)}"` }],
  ];
  for (const [name, more] of refused) {
    const { url, status } = await browser.get(authorizeUrl(more));
    t.equal(status, 0, name);
    t.equal(url.searchParams.get('error'), 'invalid_request', name);
    t.equal(url.searchParams.get('iss'), base, `${name}: RFC 9207`);
    t.equal(url.searchParams.get('state'), 'some-state', name);
    t.notOk(url.searchParams.has('code'), name);
  }
  // RFC 9700 §4.8.2: a verifier for a code that was asked for without a challenge is a downgrade.
  const code = await codeFor(built.browser());
  t.match(await form({ grant_type, code, code_verifier, ...WEB }), {
    status: 400,
    body: { error: 'invalid_grant' },
  });
});

t.test('the answer to the application', async (t) => {
  const browser = built.browser();
  const { url } = await signInAndAllow(browser, authorizeUrl({ state: 'ä/?&=#%00~' }));
  t.equal(url.origin + url.pathname, WEB.redirect_uri);
  t.same([...url.searchParams.keys()].sort(), ['code', 'iss', 'state']);
  t.equal(url.searchParams.get('state'), 'ä/?&=#%00~');
  t.equal(url.searchParams.get('iss'), base, 'RFC 9207');
  t.equal(url.hash, '');

  const again = await browser.get(authorizeUrl({ prompt: 'none' }));
  t.ok(again.url.searchParams.has('code'), 'allowed once, and signed in: nobody is asked');
  for (const prompt of ['dance', 'create dance', '']) {
    t.ok((await browser.get(authorizeUrl({ prompt }))).url.searchParams.has('code'), `ignored: ${prompt}`);
  }
  const withoutState = new URL(authorizeUrl(), base);
  withoutState.searchParams.delete('state');
  t.notOk((await browser.get(withoutState.href)).url.searchParams.has('state'));

  const errors: [string, Record<string, string>, string][] = [
    ['a response type that is not on', { response_type: 'token' }, 'unsupported_response_type'],
    ['implicit for who may not', { response_type: 'id_token token', nonce: 'n' }, 'invalid_request'],
    ['hybrid', { response_type: 'code id_token', nonce: 'n' }, 'unsupported_response_type'],
    ['an unknown scope alone', { scope: '"' }, 'invalid_scope'],
    ['prompt none with an unknown one', { prompt: 'none dance' }, 'invalid_request'],
    ['prompt none with others', { prompt: 'none login' }, 'invalid_request'],
    ['a max_age that is none', { max_age: '-1' }, 'invalid_request'],
    ['a request object', { request: 'e30.e30.' }, 'request_not_supported'],
    ['a request_uri', { request_uri: 'https://evil.example/request' }, 'request_uri_not_supported'],
    ['a registration', { registration: '{}' }, 'registration_not_supported'],
    ['another resource', { resource: 'https://evil.example/api' }, 'invalid_target'],
    ['an id_token_hint that is none', { id_token_hint: 'x' }, 'invalid_request'],
  ];
  for (const [name, more, error] of errors) {
    const page = await browser.get(authorizeUrl(more));
    const { url } = page;
    const parameters = url.hash === '' ? url.searchParams : new URLSearchParams(url.hash.slice(1));
    t.equal(url.origin + url.pathname, WEB.redirect_uri, `${name}: ${page.html.slice(0, 300)}`);
    t.equal(parameters.get('error'), error, name);
    t.notOk(parameters.has('code') || parameters.has('access_token'), name);
  }
  const stranger = built.browser();
  const none = await stranger.get(authorizeUrl({ prompt: 'none' }));
  t.equal(none.url.searchParams.get('error'), 'login_required');
});

t.test('the answer as a form that sends itself (Form Post Response Mode)', async (t) => {
  const state = '"><script>alert(1)</script>';
  const page = await signInAndAllow(built.browser(), authorizeUrl({ response_mode: 'form_post', state }));
  t.equal(page.status, 200);
  t.match(page.headers.get('cache-control'), 'no-store');
  const policy = page.headers.get('content-security-policy') ?? '';
  t.match(policy, /default-src 'none'/);
  t.match(policy, /frame-ancestors 'none'/);
  t.notMatch(policy, /unsafe-inline/);
  const [sent] = formsOf(page.html);
  t.equal(sent?.action, WEB.redirect_uri);
  t.same(Object.keys(sent?.fields ?? {}).sort(), ['code', 'iss', 'state']);
  t.equal(sent?.fields.state, state);
  t.notMatch(page.html, '<script>alert');
});

t.test('POST /oauth2/authorize takes the same as a form (OpenID Connect Core §3.1.2.1)', async (t) => {
  const query = new URL(authorizeUrl(), base).searchParams;
  const response = await fetch(`${base}/oauth2/authorize`, {
    method: 'POST',
    body: query,
    redirect: 'manual',
  });
  t.equal(response.status, 303);
  const location = new URL(String(response.headers.get('location')), base);
  t.equal(location.origin + location.pathname, `${base}/oauth2/authorize`, 'never elsewhere');
  const page = await signInAndAllow(built.browser(), location.href);
  t.match(page.url.searchParams.get('code'), /./);
  const wrong = await fetch(`${base}/oauth2/authorize`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(Object.fromEntries(query)),
  });
  t.equal(wrong.status, 415);
  t.match(wrong.headers.get('content-type'), /^text\/html/);
});

t.test('DPoP (RFC 9449): the tokens are bound to the key', async (t) => {
  const key = await dpopKey();
  const url = `${base}/oauth2/token`;
  const tokens = await tokensFor(built, { client: SPA, headers: { dpop: await key.proof('POST', url) } });
  t.match(tokens, { token_type: 'DPoP' });
  t.match(decodeJwt(tokens.access_token), { cnf: { jkt: key.thumbprint } });
  const body = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id: SPA.client_id };
  t.match(await form(body), { status: 400, body: { error: 'invalid_grant' } }, 'without the key');
  const other = await dpopKey();
  t.match(
    await form(body, { dpop: await other.proof('POST', url) }),
    { status: 400, body: { error: 'invalid_grant' } },
    'with another key',
  );
  t.match(
    await form(body, { dpop: 'x' }),
    { status: 400, body: { error: 'invalid_dpop_proof' } },
    'with no proof',
  );
  const atJson = await json(body, { dpop: await key.proof('POST', `${base}/oauth/token`) });
  t.match(atJson, { status: 200, body: { token_type: 'DPoP' } }, 'a proof for the address that was called');
});
