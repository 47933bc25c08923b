import { randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import t from 'tap';
import { authorizeUrl, build, MACHINE, SPA, signInAndAllow, WEB } from '../../build.ts';
import { pkce } from '../../tokens.ts';

const built = await build(t, { checkResponses: true });
const { base, call, form, json } = built;
const { privateKey, publicKey } = await generateKeyPair('ES256');
const made = await call('POST', '/api/v1/applications', await built.login('admin'), {
  name: 'Signs',
  type: 'machine',
  trusted: true,
  scopes: ['read:users'],
  jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }] },
});
const client_id = String(made.body.client_id);

/** An assertion of RFC 7523 §3, and what else the claims say. */
function assert(claims: Record<string, unknown> = {}, key: typeof privateKey = privateKey): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return new SignJWT({
    iss: client_id,
    sub: client_id,
    aud: `${base}/oauth2/token`,
    jti: randomUUID(),
    iat: now,
    exp: now + 60,
    ...claims,
  })
    .setProtectedHeader({ alg: 'ES256', kid: 'one' })
    .sign(key);
}
const request = (client_assertion: string, more: Record<string, string> = {}) => ({
  grant_type: 'client_credentials',
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  client_assertion,
  ...more,
});

t.test('private_key_jwt at both addresses, for any of which the assertion may be', async (t) => {
  t.equal(made.status, 201);
  t.notOk('client_secret' in made.body);
  for (const aud of [base, `${base}/oauth2/token`, `${base}/oauth/token`]) {
    t.match(await json(request(await assert({ aud }))), { status: 200 }, `JSON, ${aud}`);
    t.match(await form(request(await assert({ aud })), {}, '/oauth/token'), { status: 200 }, `form, ${aud}`);
    if (aud.endsWith('/oauth/token')) continue;
    t.match(await form(request(await assert({ aud }), { client_id })), { status: 200 }, aud);
  }
  const { body } = await json(request(await assert()));
  t.match(body, { token_type: 'Bearer', scope: 'read:users' });
  const token = String(body.access_token);
  const revoke = { token, ...request(await assert({ aud: `${base}/oauth2/revoke` })) };
  t.match(await form(revoke, {}, '/oauth2/revoke'), { status: 200 });
  t.equal((await call('GET', '/v1/users', token)).status, 401);
});

t.test('an assertion of an unknown type', async (t) => {
  for (const client_assertion_type of ['', 'x', '__proto__', 'constructor', 'toString', 'valueOf']) {
    const sent = {
      ...request(await assert({ iss: 'https://ci.example' }), { client_id }),
      client_assertion_type,
    };
    const { status, body } = await form(sent);
    t.match([status, body.error], [400, 'invalid_request'], client_assertion_type);
    t.notMatch(body.error_description, /federated/, client_assertion_type);
  }
});

t.test('an assertion that does not hold', async (t) => {
  const { privateKey: other } = await generateKeyPair('ES256');
  const once = await assert();
  t.match(await json(request(once)), { status: 200 });
  const now = Math.floor(Date.now() / 1000);
  const unsigned = `${btoa('{"alg":"none"}').replaceAll('=', '')}.${once.split('.')[1]}.`;
  for (const [name, parameters] of [
    ['once more', request(once)],
    ['of another key', request(await assert({}, other))],
    ['for another server', request(await assert({ aud: 'https://evil.example' }))],
    ['expired', request(await assert({ iat: now - 600, exp: now - 300 }))],
    ['without an end', request(await assert({ exp: undefined }))],
    ['without a jti', request(await assert({ jti: undefined }))],
    ['of another issuer', request(await assert({ iss: MACHINE.client_id }))],
    ['for another client', request(await assert({ sub: MACHINE.client_id, iss: MACHINE.client_id }))],
    ['with another client_id', request(await assert(), { client_id: MACHINE.client_id })],
    ['unsigned', request(unsigned)],
    ['cut', request(once.slice(0, -5))],
    ['of another type', { ...request(await assert()), client_assertion_type: 'urn:example' }],
    ['a secret instead', { grant_type: 'client_credentials', client_id, client_secret: 'x' }],
    ['nothing', { grant_type: 'client_credentials', client_id }],
  ] as [string, Record<string, string>][]) {
    const responses = [await json(parameters), await form(parameters)];
    for (const { status, body } of responses) {
      t.ok(status === 401 || status === 400, `${name}: ${status}`);
      t.match(body.error, status === 401 ? /^invalid_client$/ : /^invalid_request$/, name);
    }
    t.same(responses[0]?.body, responses[1]?.body, name);
  }
});

t.test('an assertion ends within an hour, at a time that there is (RFC 7523 §3)', async (t) => {
  const now = Math.floor(Date.now() / 1000);
  for (const exp of [
    1e15,
    1e300,
    now + 31 * 365 * 86_400,
    now + 3700,
    -1,
    true,
    '9999999999',
    [now + 60],
    {},
  ]) {
    const { status, body } = await json(request(await assert({ exp: exp as number })));
    t.match([status, body.error], [401, 'invalid_client'], JSON.stringify(exp));
  }
  for (const exp of [now + 3590, now + 60.5]) {
    t.equal((await json(request(await assert({ exp })))).status, 200, String(exp));
  }
});

t.test('pushed authorization requests (RFC 9126)', async (t) => {
  const { code_verifier, challenge } = pkce();
  const parameters = { response_type: 'code', scope: 'openid', state: 's', ...challenge };
  const push = (body: Record<string, string>) => form(body, {}, '/oauth2/par');
  const { redirect_uri, ...secret } = WEB;
  const pushed = await push({ ...parameters, ...WEB });
  t.equal(pushed.status, 201);
  t.match(pushed.body, { request_uri: /^urn:ietf:params:oauth:request_uri:/, expires_in: Number });
  const request_uri = String(pushed.body.request_uri);
  const at = (client: string, uri = request_uri) =>
    `/oauth2/authorize?${new URLSearchParams({ client_id: client, request_uri: uri })}`;

  const browser = built.browser();
  for (const [name, url] of [
    ['of another client', at(SPA.client_id)],
    ['unknown', at(WEB.client_id, `${request_uri}x`)],
    ['without a client', `/oauth2/authorize?${new URLSearchParams({ request_uri })}`],
    ['with another redirect URI', `${at(SPA.client_id)}&redirect_uri=https://evil.example/`],
  ] as const) {
    const page = await browser.get(url);
    t.not(page.url.host, 'evil.example', name);
    t.notOk(page.url.searchParams.has('code'), name);
    t.notMatch(page.url.pathname, /^\/sign-in/, name);
  }
  const page = await signInAndAllow(browser, at(WEB.client_id));
  t.equal(page.url.origin + page.url.pathname, redirect_uri);
  const code = String(page.url.searchParams.get('code'));
  t.match(await json({ grant_type: 'authorization_code', code, code_verifier, ...WEB }), { status: 200 });
  const again = await browser.get(at(WEB.client_id));
  t.notOk(again.url.searchParams.has('code'), 'once');

  for (const [name, body, status, error] of [
    [
      'a bad redirect URI',
      { ...parameters, ...secret, redirect_uri: 'https://evil.example/' },
      400,
      'invalid_request',
    ],
    ['a wrong secret', { ...parameters, ...WEB, client_secret: 'x' }, 401, 'invalid_client'],
    ['no client', { ...parameters, redirect_uri }, 401, 'invalid_client'],
    [
      'no challenge of a public client',
      { response_type: 'code', scope: 'openid', ...SPA },
      400,
      'invalid_request',
    ],
    ['a request_uri', { ...parameters, ...WEB, request_uri }, 400, 'request_uri_not_supported'],
  ] as [string, Record<string, string>, number, string][]) {
    const refused = await push(body);
    t.match(refused, { status, body: { error, error_description: String } }, name);
    t.equal(refused.headers.get('cache-control'), 'no-store', name);
  }
  const direct = await built.browser().get(authorizeUrl());
  t.match(direct.url.pathname, /^\/sign-in/, 'nobody must push');
});
