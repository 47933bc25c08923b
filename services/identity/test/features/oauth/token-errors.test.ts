import { gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { build, codeFor, MACHINE, NATIVE, OTHER, SPA, WEB } from '../../build.ts';
import { age, type JsonResponse, pkce, tokensFor } from '../../tokens.ts';

const built = await build(t, { checkResponses: true });
const { base, json, form, post } = built;
const database = await built.database();
const FORM = 'application/x-www-form-urlencoded';

type Row = [
  name: string,
  parameters: Record<string, string>,
  error: string,
  headers?: Record<string, string>,
];

/** Without the parameters that are named. */
function without(parameters: Record<string, string>, ...names: string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => !names.includes(name)));
}

const basic = (id: string, secret: string) => ({ authorization: `Basic ${btoa(`${id}:${secret}`)}` });

/** Sends each row in all three ways, which must not differ in their responses. */
async function refuses(t: Test, rows: readonly Row[]): Promise<void> {
  for (const [name, parameters, error, headers = {}] of rows) {
    // RFC 6749 §5.2.
    const status = error === 'invalid_client' ? 401 : 400;
    const responses: [string, JsonResponse][] = [
      ['JSON', await json(parameters, headers)],
      ['form', await form(parameters, headers)],
      ['form at /oauth/token', await form(parameters, headers, '/oauth/token')],
    ];
    for (const [how, response] of responses) {
      t.same([response.status, response.body.error], [status, error], `${name}: ${how}`);
      t.same(response.body, responses[0]?.[1].body, `${name}: ${how}: the same body`);
      t.same(Object.keys(response.body).sort(), ['error', 'error_description'], `${name}: ${how}`);
      t.match(response.body.error_description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/, `${name}: RFC 6749 §5.2`);
      t.equal(response.headers.get('cache-control'), 'no-store', `${name}: ${how}`);
      t.match(response.headers.get('content-type'), /^application\/json/, `${name}: ${how}`);
      const challenge = response.headers.get('www-authenticate');
      if (status === 401 && headers.authorization !== undefined) t.match(challenge, /^Basic realm=/, name);
      else t.equal(challenge, null, `${name}: ${how}: no challenge`);
    }
  }
}

t.test('client credentials', async (t) => {
  const ok = { grant_type: 'client_credentials', ...MACHINE };
  const bare = without(ok, 'client_id', 'client_secret');
  const { client_id, client_secret } = MACHINE;
  const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
  const assertion = { client_assertion: 'x', client_assertion_type };
  await refuses(t, [
    ['wrong secret', { ...ok, client_secret: 'wrong' }, 'invalid_client'],
    ['wrong secret by Basic', bare, 'invalid_client', basic(client_id, 'wrong')],
    ['a secret longer than any', { ...ok, client_secret: 'x'.repeat(5000) }, 'invalid_client'],
    ['empty secret', { ...ok, client_secret: '' }, 'invalid_client'],
    ['unknown client', { ...ok, client_id: 'app_nobody' }, 'invalid_client'],
    ['unknown client by Basic', bare, 'invalid_client', basic('app_nobody', 'x')],
    ['no client', bare, 'invalid_client'],
    ['a public client', { ...bare, client_id: SPA.client_id }, 'unauthorized_client'],
    [
      'a public client with a secret',
      { ...bare, client_id: SPA.client_id, client_secret: 'x' },
      'invalid_client',
    ],
    ['a client of people', { ...bare, ...without(WEB, 'redirect_uri') }, 'unauthorized_client'],
    ['secret in both places', ok, 'invalid_request', basic(client_id, client_secret)],
    [
      'another client_id in the body',
      { ...bare, client_id: OTHER.client_id },
      'invalid_request',
      basic(client_id, client_secret),
    ],
    ['no grant type', without(ok, 'grant_type'), 'invalid_request'],
    ['an empty grant type', { ...ok, grant_type: '' }, 'invalid_request'],
    ['another grant type', { ...ok, grant_type: 'password' }, 'unsupported_grant_type'],
    ['the implicit grant', { ...ok, grant_type: 'implicit' }, 'unsupported_grant_type'],
    [
      'an extension grant',
      { ...ok, grant_type: 'urn:ietf:params:oauth:grant-type:saml2-bearer' },
      'unsupported_grant_type',
    ],
    ['unknown scope', { ...ok, scope: 'read:moon' }, 'invalid_scope'],
    ['scope beyond what it may', { ...ok, scope: 'read:users read:data' }, 'invalid_scope'],
    ['openid', { ...ok, scope: 'openid' }, 'invalid_scope'],
    ['offline_access', { ...ok, scope: 'read:users offline_access' }, 'invalid_scope'],
    ['internal', { ...ok, scope: 'internal' }, 'invalid_scope'],
    ['manage:apps', { ...ok, scope: 'manage:apps' }, 'invalid_scope'],
    ['a scope that is no scope', { ...ok, scope: 'read:users "\\' }, 'invalid_scope'],
    ['another resource', { ...ok, resource: 'https://api.example.org' }, 'invalid_target'],
    ['a resource that is none', { ...ok, resource: 'api' }, 'invalid_target'],
    ['an assertion that is none', { ...bare, client_id, ...assertion }, 'invalid_client'],
    ['an assertion and a secret', { ...ok, ...assertion }, 'invalid_request'],
  ]);
});

t.test('authorization code', async (t) => {
  const { code_verifier, challenge } = pkce();
  const browser = built.browser();
  const code = await codeFor(browser, challenge);
  const ok = { grant_type: 'authorization_code', code, code_verifier, ...WEB };
  const spa = pkce();
  const publicCode = await codeFor(browser, { ...SPA, ...spa.challenge });
  const okPublic = {
    grant_type: 'authorization_code',
    code: publicCode,
    code_verifier: spa.code_verifier,
    ...SPA,
  };
  const expired = await codeFor(browser, challenge);
  await age(database, 'oidc_authorization_codes', expired, { expires_at: -1 });
  await refuses(t, [
    ['no code', without(ok, 'code'), 'invalid_request'],
    ['an empty code', { ...ok, code: '' }, 'invalid_request'],
    ['unknown code', { ...ok, code: 'x'.repeat(43) }, 'invalid_grant'],
    ['a code of other characters', { ...ok, code: '{"$gt":""}' }, 'invalid_grant'],
    ['an expired code', { ...ok, code: expired }, 'invalid_grant'],
    ['the code of another client', { ...ok, code: publicCode }, 'invalid_grant'],
    [
      'a code of ours at another client',
      { ...okPublic, code, redirect_uri: WEB.redirect_uri },
      'invalid_grant',
    ],
    ['another redirect URI', { ...ok, redirect_uri: 'https://evil.example/' }, 'invalid_grant'],
    ['a longer redirect URI', { ...ok, redirect_uri: `${WEB.redirect_uri}/` }, 'invalid_grant'],
    ['wrong verifier', { ...ok, code_verifier: pkce().code_verifier }, 'invalid_grant'],
    ['the challenge for a verifier', { ...ok, code_verifier: challenge.code_challenge }, 'invalid_grant'],
    ['no verifier', without(ok, 'code_verifier'), 'invalid_grant'],
    ['no verifier of a public client', without(okPublic, 'code_verifier'), 'invalid_grant'],
    ['wrong secret', { ...ok, client_secret: 'wrong' }, 'invalid_client'],
    ['no secret', without(ok, 'client_secret'), 'invalid_client'],
    [
      'wrong secret by Basic',
      without(ok, 'client_id', 'client_secret'),
      'invalid_client',
      basic(WEB.client_id, 'wrong'),
    ],
    ['a machine', { ...ok, ...MACHINE }, 'unauthorized_client'],
    ['the refresh grant with a code', { ...ok, grant_type: 'refresh_token' }, 'invalid_request'],
  ]);
  t.match(await json(ok), { status: 200 }, 'none of this has spent the code');
  t.match(await form(okPublic), { status: 200 }, 'nor that of the public client');
  await refuses(t, [['a used code', ok, 'invalid_grant']]);
});

t.test('refresh token', async (t) => {
  const { refresh_token } = await tokensFor(built);
  const ok = { grant_type: 'refresh_token', refresh_token, ...without(WEB, 'redirect_uri') };
  const narrow = await tokensFor(built, { more: { scope: 'openid read:data' } });
  const spa = await tokensFor(built, { client: SPA });
  await refuses(t, [
    ['no refresh token', without(ok, 'refresh_token'), 'invalid_request'],
    ['unknown', { ...ok, refresh_token: 'x'.repeat(43) }, 'invalid_grant'],
    ['an access token', { ...ok, refresh_token: narrow.access_token }, 'invalid_grant'],
    ['of another client', { ...ok, refresh_token: spa.refresh_token }, 'invalid_grant'],
    [
      'a scope that was not granted',
      { ...ok, refresh_token: narrow.refresh_token, scope: 'read:data write:data' },
      'invalid_scope',
    ],
    ['an unknown scope', { ...ok, scope: 'read:moon' }, 'invalid_scope'],
    ['another resource', { ...ok, resource: `${base}/internal` }, 'invalid_target'],
    ['wrong secret', { ...ok, client_secret: 'wrong' }, 'invalid_client'],
    ['no secret', without(ok, 'client_secret'), 'invalid_client'],
    ['a machine', { ...ok, ...MACHINE }, 'unauthorized_client'],
    [
      'another public client',
      { ...ok, refresh_token: spa.refresh_token, client_id: NATIVE.client_id, client_secret: '' },
      'invalid_grant',
    ],
  ]);
  t.match(await json(ok), { status: 200 }, 'it lives all the same');
  const expiring = await tokensFor(built);
  await age(database, 'oidc_refresh_tokens', expiring.refresh_token, { expires_at: -1 });
  await refuses(t, [['expired', { ...ok, refresh_token: expiring.refresh_token }, 'invalid_grant']]);
});

t.test('the shape of the request', async (t) => {
  const ok = { grant_type: 'client_credentials', ...MACHINE };
  const text = new URLSearchParams(ok).toString();
  const asJson = JSON.stringify(ok);
  const type = 'application/json';
  const rows: [name: string, response: Promise<JsonResponse>, status: number][] = [
    ['a JSON parameter twice', json(`${asJson.slice(0, -1)},"grant_type":"client_credentials"}`), 400],
    ['twice by an escape', json(`${asJson.slice(0, -1)},"\\u0063lient_id":"app_other"}`), 400],
    ['twice, the first null', json(`{"scope":null,${asJson.slice(1, -1)},"scope":"read:users"}`), 400],
    ['a form parameter twice', form(`${text}&scope=read:users&scope=read:users`), 400],
    ['client_id twice', form(`${text}&client_id=app_other`), 400],
    ['parameters in the URL', post(`/oauth/token?${text}`, '', { 'content-type': FORM }), 401],
    ['the secret in the URL', post(`/oauth2/token?${text}`, '', { 'content-type': FORM }), 401],
    ['text/plain', post('/oauth/token', text, { 'content-type': 'text/plain' }), 400],
    ['no type', post('/oauth/token', new TextEncoder().encode(text), {}), 400],
    ['multipart', post('/oauth2/token', text, { 'content-type': 'multipart/form-data; boundary=x' }), 400],
    ['a vendor type', json(ok, { 'content-type': 'application/vnd.api+json' }), 400],
    ['JSON at the form endpoint', post('/oauth2/token', asJson, { 'content-type': type }), 400],
    [
      'gzip',
      post('/oauth/token', new Uint8Array(gzipSync(asJson)), {
        'content-type': type,
        'content-encoding': 'gzip',
      }),
      415,
    ],
    [
      'a coding that is said only',
      post('/oauth2/token', text, { 'content-type': FORM, 'content-encoding': 'br' }),
      415,
    ],
    ['20 kB as JSON', json({ ...ok, padding: 'x'.repeat(20_000) }), 413],
    ['20 kB as a form', form({ ...ok, padding: 'x'.repeat(20_000) }), 413],
    ['many parameters', form(`${text}${'&a=b'.repeat(5000)}`), 413],
    ['a scope of 15 kB', json({ ...ok, scope: 'x'.repeat(15_000) }), 400],
    ['nested JSON', json(`${asJson.slice(0, -1)},"scope":{"$gt":""}}`), 400],
    ['deep JSON', json(`{"scope":${'['.repeat(3000)}${']'.repeat(3000)}}`), 400],
  ];
  for (const [name, promise, status] of rows) {
    const { status: actual, body, headers } = await promise;
    t.equal(actual, status, `${name}: ${JSON.stringify(body)}`);
    t.same(Object.keys(body), ['error', 'error_description'], name);
    t.equal(headers.get('cache-control'), 'no-store', name);
  }
  t.match(await json(ok, { 'content-encoding': 'identity' }), { status: 200 }, 'identity codes nothing');
  t.match(await form({ ...ok, unknown: 'x' }), { status: 200 }, 'RFC 6749 §3.2: unknown ones are ignored');
  t.match(await json({ ...ok, scope: '' }), { status: 200 }, 'RFC 6749 §3.2: an empty one counts as absent');
});
