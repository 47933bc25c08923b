import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import t from 'tap';
import { build, MACHINE, OTHER } from '../../build.ts';

const { base, json, form, post } = await build(t, { checkResponses: true, rateLimit: 'on' });
const grant = { grant_type: 'client_credentials' };

t.test('the token response, by JSON and by form, by body and by Basic', async (t) => {
  const basic = `Basic ${Buffer.from(`${MACHINE.client_id}:${MACHINE.client_secret}`).toString('base64')}`;
  const responses = {
    json: await json({ ...grant, ...MACHINE, scope: 'read:users' }),
    form: await form({ ...grant, ...MACHINE, scope: 'read:users' }),
    'form on the JSON path': await form({ ...grant, ...MACHINE, scope: 'read:users' }, {}, '/oauth/token'),
    'JSON with a charset': await json(
      { ...grant, ...MACHINE, scope: 'read:users' },
      { 'content-type': 'application/json; charset=utf-8' },
    ),
    'form with Basic': await form({ ...grant, scope: 'read:users' }, { authorization: basic }),
    'JSON with Basic': await json({ ...grant, scope: 'read:users' }, { authorization: basic }),
  };
  for (const [name, { status, headers, body }] of Object.entries(responses)) {
    t.equal(status, 200, name);
    t.same(Object.keys(body).sort(), ['access_token', 'expires_in', 'scope', 'token_type'], name);
    t.match(body, { access_token: /^ey/, token_type: 'Bearer', expires_in: 3600, scope: 'read:users' }, name);
    t.equal(headers.get('cache-control'), 'no-store', name);
    t.match(headers.get('content-type'), /^application\/json/, name);
  }
});

t.test('without a scope, all that the application may ask for', async (t) => {
  for (const scope of [undefined, null, '']) {
    const { body } = await json({ ...grant, ...MACHINE, scope });
    t.equal(body.scope, 'read:users write:users');
  }
  const { body } = await json({ ...grant, ...MACHINE, scope: 'write:users read:users write:users' });
  t.equal(body.scope, 'write:users read:users', 'each once');
});

t.test('jose verifies the token from outside; RFC 9068', async (t) => {
  const { body } = await json({ ...grant, ...MACHINE });
  const token = String(body.access_token);
  const keys = createRemoteJWKSet(new URL(`${base}/.well-known/jwks.json`));
  const { payload } = await jwtVerify(token, keys, { issuer: base, audience: `${base}/api`, typ: 'at+jwt' });
  const now = Math.floor(Date.now() / 1000);
  t.same(Object.keys(payload).sort(), [
    ...['aud', 'client_id', 'credential_id', 'epoch', 'exp', 'iat', 'iss', 'jti', 'scope', 'sub', 'trusted'],
  ]);
  t.match(payload, {
    sub: MACHINE.client_id,
    client_id: MACHINE.client_id,
    scope: 'read:users write:users',
    trusted: true,
    epoch: { client: 0 },
  });
  t.equal(Number(payload.exp) - Number(payload.iat), 3600);
  t.ok(Math.abs(Number(payload.iat) - now) <= 2);
  t.match(decodeProtectedHeader(token), { alg: 'ES256', typ: 'at+jwt', kid: /^key_/ });
  const { body: again } = await json({ ...grant, ...MACHINE });
  const { payload: other } = await jwtVerify(String(again.access_token), keys);
  t.not(other.jti, payload.jti);
});

t.test('discovery and keys', async (t) => {
  // A Host header and forwarding headers of a stranger's choice must not end up in the metadata.
  const response = await fetch(`${base}/.well-known/openid-configuration`, {
    headers: { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
  });
  const metadata = (await response.json()) as Record<string, unknown>;
  t.match(metadata, {
    issuer: base,
    token_endpoint: `${base}/oauth2/token`,
    jwks_uri: `${base}/.well-known/jwks.json`,
    id_token_signing_alg_values_supported: ['ES256', 'RS256'],
  });
  t.notMatch(JSON.stringify(metadata), /evil/);
  const jwks = (await (await fetch(`${base}/.well-known/jwks.json`)).json()) as {
    keys: Record<string, unknown>[];
  };
  t.same(
    jwks.keys.map(({ alg }) => alg).sort(),
    ['ES256', 'ES256', 'RS256', 'RS256'],
    'of each the current and the next',
  );
  for (const key of jwks.keys)
    t.notOk(
      ['d', 'p', 'q', 'k'].some((name) => name in key),
      'nothing private',
    );
});

t.test('errors: {error, error_description}, never cached, the same on both paths', async (t) => {
  const wrong = { ...MACHINE, client_secret: 'wrong' };
  const cases: [string, Record<string, string>, number, string][] = [
    ['wrong secret', { ...grant, ...wrong }, 401, 'invalid_client'],
    [
      'the secret of another',
      { ...grant, ...MACHINE, client_secret: OTHER.client_secret },
      401,
      'invalid_client',
    ],
    [
      'a secret that is the stored hash',
      { ...grant, ...MACHINE, client_secret: 'kept as a hash' },
      401,
      'invalid_client',
    ],
    ['unknown client', { ...grant, client_id: 'app_unknown', client_secret: 'x' }, 401, 'invalid_client'],
    ['no secret', { ...grant, client_id: MACHINE.client_id }, 401, 'invalid_client'],
    ['no client', grant, 401, 'invalid_client'],
    ['unknown grant', { ...MACHINE, grant_type: 'telepathy' }, 400, 'unsupported_grant_type'],
    [
      'password grant',
      { ...MACHINE, grant_type: 'password', username: 'a', password: 'b' },
      400,
      'unsupported_grant_type',
    ],
    ['no grant', MACHINE, 400, 'invalid_request'],
    ['scope beyond', { ...grant, ...MACHINE, scope: 'read:users read:all' }, 400, 'invalid_scope'],
    ['unknown scope', { ...grant, ...MACHINE, scope: 'delete:everything' }, 400, 'invalid_scope'],
    ['openid for a machine', { ...grant, ...MACHINE, scope: 'openid' }, 400, 'invalid_scope'],
    ['scope with quotes', { ...grant, ...MACHINE, scope: '"x"' }, 400, 'invalid_scope'],
    ['another resource', { ...grant, ...MACHINE, resource: `${base}/internal` }, 400, 'invalid_target'],
    ['a NUL', { ...grant, ...MACHINE, scope: 'read\0' }, 400, 'invalid_request'],
  ];
  for (const [name, parameters, status, error] of cases) {
    for (const [path, reply] of [
      ['json', await json(parameters)],
      ['form', await form(parameters)],
    ] as const) {
      t.equal(reply.status, status, `${name} (${path})`);
      t.equal(reply.body.error, error, `${name} (${path})`);
      t.same(Object.keys(reply.body), ['error', 'error_description']);
      t.type(reply.body.error_description, 'string');
      t.equal(reply.headers.get('cache-control'), 'no-store');
      t.notMatch(JSON.stringify(reply.body), new RegExp(MACHINE.client_secret));
    }
  }
});

t.test('invalid token requests', async (t) => {
  const type = 'application/json';
  const cases: [string, Promise<{ status: number; body: Record<string, unknown> }>, number][] = [
    ['malformed JSON', json('{"grant_type":'), 400],
    ['a list', json([]), 400],
    ['a text', json('"x"'), 400],
    ['null', json('null'), 400],
    ['a number for a parameter', json({ ...grant, ...MACHINE, client_id: 1 }), 400],
    ['a list for a parameter', json({ ...grant, ...MACHINE, scope: ['read:users'] }), 400],
    ['__proto__', json('{"__proto__":{"client_id":"x"}}'), 400],
    ['half a surrogate pair', json('{"grant_type":"\\ud800"}'), 400],
    ['empty', post('/oauth/token', '', { 'content-type': type }), 400],
    ['invalid UTF-8', post('/oauth/token', new Uint8Array([0xff, 0xfe]), { 'content-type': type }), 400],
    ['unknown content type', post('/oauth/token', 'x', { 'content-type': 'text/plain' }), 400],
    ['JSON on the form path', post('/oauth2/token', '{}', { 'content-type': type }), 400],
    [
      'JSON sent as a form',
      post('/oauth/token', JSON.stringify(grant), { 'content-type': 'application/x-www-form-urlencoded' }),
      400,
    ],
    [
      'a parameter twice',
      post(
        '/oauth2/token',
        `grant_type=client_credentials&grant_type=client_credentials&${new URLSearchParams(MACHINE)}`,
        {
          'content-type': 'application/x-www-form-urlencoded',
        },
      ),
      400,
    ],
    ['two ways to authenticate', form({ ...grant, ...MACHINE }, { authorization: 'Basic YTpi' }), 400],
    ['10 MB', json(JSON.stringify({ grant_type: 'x'.repeat(10_000_000) })), 413],
  ];
  for (const [name, reply, status] of cases) {
    const { status: actual, body } = await reply;
    t.equal(actual, status, name);
    t.same(Object.keys(body), ['error', 'error_description'], name);
    t.equal(body.error, 'invalid_request', name);
  }
  const get = await fetch(`${base}/oauth/token`);
  t.equal(get.status, 405);
  t.equal(get.headers.get('allow'), 'POST, OPTIONS');
  const propfind = await fetch(`${base}/oauth/token`, { method: 'PROPFIND' });
  t.equal(propfind.status, 405);
  const nothing = await fetch(`${base}/oauth2/nothing`);
  t.equal(nothing.status, 404);
  t.match(await nothing.json(), { error: 'invalid_request' });
});

t.test('a wrong secret by Basic gets the challenge of RFC 6749 §5.2', async (t) => {
  const { status, headers } = await form(grant, { authorization: `Basic ${btoa('app_machine:wrong')}` });
  t.equal(status, 401);
  t.match(headers.get('www-authenticate'), /^Basic /);
  for (const header of [
    'Basic !!',
    'Basic',
    'Bearer x',
    `Basic ${btoa('app_machine')}`,
    `Basic ${btoa('a:')}`,
  ]) {
    const refused = await form(grant, { authorization: header });
    t.match(refused, { status: 401, body: { error: 'invalid_client' } }, header);
    t.match(refused.headers.get('www-authenticate'), /^Basic /, header);
  }
});

t.test('too many requests are 429 rate_limited', async (t) => {
  let reply = await json({});
  t.match(reply.headers.get('ratelimit-policy'), '"token";q=600;w=60');
  for (let i = 0; i < 600 && reply.status !== 429; i += 50) {
    const responses = await Promise.all(Array.from({ length: 50 }, () => json({})));
    reply = responses.find(({ status }) => status === 429) ?? reply;
  }
  t.match(reply, { status: 429, body: { error: 'rate_limited', error_description: /try again in/ } });
  t.ok(Number(reply.headers.get('retry-after')) > 0);
});
