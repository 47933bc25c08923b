import { request } from 'node:http';
import { decodeJwt } from 'jose';
import t from 'tap';
import { authorizeUrl, build, OTHER, SPA, signInAndAllow } from '../../build.ts';
import { statusesOf } from '../../tokens.ts';

const built = await build(t);
const { base, call, machineToken } = built;

async function read(path: string) {
  const response = await fetch(base + path);
  t.equal(response.status, 200, path);
  t.match(response.headers.get('content-type'), /^application\/(?:jwk-set\+)?json/, path);
  t.match(response.headers.get('access-control-allow-origin'), '*', `${path} is for everybody`);
  return (await response.json()) as Record<string, unknown>;
}

t.test('caches keep the documents, and ask whether they have changed', async (t) => {
  for (const [name, seconds] of [
    ['openid-configuration', 3600],
    ['oauth-authorization-server', 3600],
    ['oauth-protected-resource/api', 3600],
    ['jwks.json', 60],
  ] as const) {
    const url = `${base}/.well-known/${name}`;
    const { headers } = await fetch(url);
    t.equal(headers.get('cache-control'), `public, max-age=${seconds}`, name);
    const etag = headers.get('etag') ?? '';
    const again = await fetch(url, { headers: { 'if-none-match': etag } });
    t.match([again.status, await again.text(), again.headers.get('etag')], [304, '', etag], name);
    const changed = await fetch(url, { headers: { 'if-none-match': '"other"' } });
    t.match(await changed.json(), {}, name);
  }
});

t.test('OpenID Connect Discovery and RFC 8414 say the same', async (t) => {
  const openid = await read('/.well-known/openid-configuration');
  const oauth = await read('/.well-known/oauth-authorization-server');
  t.same(oauth, openid);
  t.match(openid, {
    issuer: base,
    authorization_endpoint: `${base}/oauth2/authorize`,
    token_endpoint: `${base}/oauth2/token`,
    userinfo_endpoint: `${base}/userinfo`,
    revocation_endpoint: `${base}/oauth2/revoke`,
    introspection_endpoint: `${base}/oauth2/introspect`,
    end_session_endpoint: `${base}/oauth2/logout`,
    pushed_authorization_request_endpoint: `${base}/oauth2/par`,
    device_authorization_endpoint: `${base}/oauth2/device_authorization`,
    jwks_uri: `${base}/.well-known/jwks.json`,
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    dpop_signing_alg_values_supported: Array,
    require_pushed_authorization_requests: undefined,
    registration_endpoint: undefined,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
  });
  const { status, headers } = await call('GET', '/v2/users');
  const [, metadata = ''] =
    /, resource_metadata="([^"]+)"$/.exec(headers.get('www-authenticate') ?? '') ?? [];
  t.equal(status, 401);
  t.equal(metadata, `${base}/.well-known/oauth-protected-resource/api`);
  const resource = (await (await fetch(metadata)).json()) as Record<string, unknown>;
  t.match(resource, { resource: `${base}/api`, authorization_servers: [openid.issuer] }, 'RFC 9728 §3.3');
  t.match((await call('GET', '/api/v1/applications')).headers.get('www-authenticate'), metadata);
  const scopes = await call('GET', '/v2/users', await machineToken(OTHER));
  t.match(
    [scopes.status, scopes.headers.get('www-authenticate')],
    [403, /error="insufficient_scope", scope="read:users read:all", resource_metadata=/],
  );
  const sets: [string, string[]][] = [
    [
      'grant_types_supported',
      [
        ...['authorization_code', 'refresh_token', 'client_credentials', 'implicit'],
        'urn:ietf:params:oauth:grant-type:device_code',
        'urn:ietf:params:oauth:grant-type:token-exchange',
        'urn:ietf:params:oauth:grant-type:jwt-bearer',
      ],
    ],
    ['response_types_supported', ['code', 'id_token token', 'none']],
    [
      'token_endpoint_auth_methods_supported',
      ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'spiffe_jwt', 'none'],
    ],
    [
      'scopes_supported',
      [
        ...['openid', 'profile', 'email', 'roles', 'read:profile', 'read:users', 'write:users'],
        ...['read:data', 'write:data', 'read:all', 'offline_access'],
      ],
    ],
    ['id_token_signing_alg_values_supported', ['RS256', 'ES256']],
    ['subject_types_supported', ['public']],
    ['prompt_values_supported', ['none', 'login', 'consent', 'select_account']],
  ];
  for (const [name, expected] of sets) t.same(new Set(openid[name] as string[]), new Set(expected), name);
  const endpoints = Object.entries(openid).filter(([name]) => /_endpoint$|_uri$/.test(name));
  t.ok(endpoints.length >= 8);
  for (const [name, url] of endpoints) {
    t.ok(String(url).startsWith(`${base}/`), name);
    const statuses = await Promise.all(
      ['GET', 'POST'].map(
        async (method) => (await fetch(String(url), { method, redirect: 'manual' })).status,
      ),
    );
    t.ok(
      statuses.some((status) => status !== 404 && status !== 405),
      `${name}: ${statuses}`,
    );
  }
});

/** Every path of each kind of route, with a method that it supports. */
const PATHS: [method: string, path: string][] = [
  ['GET', '/oauth2/authorize'],
  ['GET', '/oauth2/authorize/x'],
  ['GET', '/oauth2/logout'],
  ['POST', '/oauth2/logout/confirm'],
  ['GET', '/oauth2/logout/success'],
  ...['/oauth2/token', '/oauth/token', '/oauth2/revoke', '/oauth2/introspect', '/oauth2/par'].map(
    (path): [string, string] => ['POST', path],
  ),
  ['GET', '/.well-known/openid-configuration'],
  ['GET', '/.well-known/oauth-authorization-server'],
  ['GET', '/.well-known/jwks.json'],
  ['GET', '/userinfo'],
  ['GET', '/api/v1/auth/status'],
  ['POST', '/api/v1/auth/login'],
  ['GET', '/api/v1/applications'],
  ['GET', '/api/v1/applications/x'],
  ['GET', '/internal/identity/revocations'],
  ['GET', '/sign-in/x'],
  ['GET', '/consent/x'],
  ['GET', '/account'],
  ['GET', '/account/forgotten-password'],
];

/** Other spellings of a path, of which routers take many for the same. */
function spellingsOf(path: string): string[] {
  const [, first = '', ...rest] = path.split('/');
  const last = path.slice(-1);
  return [
    path.toUpperCase(),
    `/${first}/${rest.join('/').toUpperCase()}`,
    `${path.slice(0, -1)}${last.toUpperCase()}`,
    `${path.slice(0, -1)}%${last.charCodeAt(0).toString(16)}`,
    `${path}/`,
    `${path}//`,
    `/${path}`,
    path.replace(/.(?=[^/]*$)/, '/$&'),
    `/.${path}`,
    `/x/..${path}`,
    `${path}/.`,
    `${path}#`,
    `${path};x`,
  ].filter((spelling) => spelling !== path && !(spelling.endsWith('/X') && path.endsWith('/x')));
}

/** The status of a request whose path is sent as it is, where fetch would tidy it. */
function statusOf(method: string, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(base, { method, path }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
}

t.test('each path is served in one spelling', async (t) => {
  for (const [method, path] of PATHS) {
    t.not(await statusOf(method, path), 404, path);
    for (const spelling of spellingsOf(path)) {
      t.equal(await statusOf(method, spelling), 404, `${method} ${spelling}`);
    }
  }
});

t.test('a document answers methods other than GET with 405', async (t) => {
  for (const path of ['openid-configuration', 'oauth-authorization-server', 'jwks.json']) {
    for (const method of ['TRACE', 'PUT', 'POST', 'DELETE']) {
      t.equal(await statusOf(method, `/.well-known/${path}`), 405, `${method} ${path}`);
    }
  }
});

t.test('the keys: public members only', async (t) => {
  const { keys } = (await read('/.well-known/jwks.json')) as { keys: Record<string, unknown>[] };
  t.equal(keys.length, 4, 'the current and the next, RSA and EC');
  for (const { kty, ...key } of keys) {
    const members = kty === 'EC' ? ['alg', 'crv', 'kid', 'use', 'x', 'y'] : ['alg', 'e', 'kid', 'n', 'use'];
    t.same(Object.keys(key).sort(), members);
    t.equal(key.use, 'sig');
  }
  t.equal(new Set(keys.map(({ kid }) => kid)).size, 4);
});

t.test('the implicit flow, for applications that are flagged legacy', async (t) => {
  const token = await built.login();
  const redirect_uri = 'https://legacy.example.org/callback';
  const draft = {
    name: 'Legacy',
    type: 'spa',
    redirect_uris: [redirect_uri],
    scopes: ['openid', 'read:users'],
  };
  const made = await call('POST', '/api/v1/applications', token, { ...draft, legacy_implicit: true });
  t.equal(made.status, 201);
  const client_id = String(made.body.client_id);
  const ask = (more: Record<string, string> = {}) =>
    authorizeUrl({
      client_id,
      redirect_uri,
      response_type: 'id_token token',
      scope: 'openid read:users',
      nonce: 'n-1',
      ...more,
    });
  const browser = built.browser();
  const { url } = await signInAndAllow(browser, ask());
  t.equal(url.origin + url.pathname + url.search, redirect_uri, 'nothing in the query');
  const reply = new URLSearchParams(url.hash.slice(1));
  t.same([...reply.keys()].sort(), [
    ...['access_token', 'expires_in', 'id_token', 'scope', 'state', 'token_type'],
  ]);
  t.equal(reply.get('token_type'), 'Bearer');
  const accessToken = String(reply.get('access_token'));
  t.match(decodeJwt(accessToken), { aud: `${base}/api`, client_id, scope: 'openid read:users' });
  t.match(decodeJwt(String(reply.get('id_token'))), { nonce: 'n-1', at_hash: String });
  t.same(await statusesOf(built, accessToken), [200, 200]);

  for (const [name, more, error] of [
    ['no nonce', { nonce: '' }, 'invalid_request'],
    ['in the query', { response_mode: 'query' }, 'invalid_request'],
    ['a token alone', { response_type: 'token' }, 'unsupported_response_type'],
    ['an ID token alone', { response_type: 'id_token' }, 'unsupported_response_type'],
    ['hybrid', { response_type: 'code id_token token' }, 'unsupported_response_type'],
  ] as [string, Record<string, string>, string][]) {
    const page = await browser.get(ask(more));
    const parameters = new URLSearchParams(page.url.hash.slice(1) || page.url.search);
    t.equal(page.url.origin, new URL(redirect_uri).origin, name);
    t.equal(parameters.get('error'), error, name);
    t.notOk(parameters.has('access_token'), name);
  }
  const page = await browser.get(
    authorizeUrl({ ...SPA, response_type: 'id_token token', scope: 'openid', nonce: 'n-1' }),
  );
  const refused = new URLSearchParams(page.url.hash.slice(1));
  t.equal(refused.get('error'), 'invalid_request', 'not for others');
  t.notOk(refused.has('access_token'));

  const revoked = await built.form({ token: accessToken, client_id }, {}, '/oauth2/revoke');
  t.equal(revoked.status, 200);
  t.same(await statusesOf(built, accessToken), [401, 401]);
  const machine = { ...draft, type: 'native', legacy_implicit: true };
  t.equal((await call('POST', '/api/v1/applications', token, machine)).status, 400);
});
