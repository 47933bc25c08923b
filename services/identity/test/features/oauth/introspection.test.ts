import t from 'tap';
import { build, MACHINE, OTHER, SPA, WEB } from '../../build.ts';
import { refresh, tokensFor } from '../../tokens.ts';

const built = await build(t, { checkResponses: true });
const { base, call, form, login, machineToken, post, people } = built;
const { redirect_uri: _, ...web } = WEB;
const browser = built.browser();

async function introspect(token: string, client: Record<string, string> = web, more = {}) {
  const body = { token, ...client, ...more };
  const responses = await Promise.all([
    form(body, {}, '/oauth2/introspect'),
    post('/oauth2/introspect', JSON.stringify(body), { 'content-type': 'application/json' }),
  ]);
  t.same(responses[0].body, responses[1].body, 'the same as a form and as JSON');
  t.equal(responses[0].headers.get('cache-control'), 'no-store');
  return responses[0];
}

t.test('one’s own tokens (RFC 7662 §2.2)', async (t) => {
  const { access_token, refresh_token } = await tokensFor(built, { browser });
  const access = await introspect(access_token);
  t.match(access, {
    status: 200,
    body: {
      active: true,
      client_id: WEB.client_id,
      sub: people.ann.id,
      iss: base,
      aud: `${base}/api`,
      token_type: 'Bearer',
      jti: String,
      exp: Number,
      iat: Number,
    },
  });
  t.match(access.body.scope, /openid/);
  t.equal(Number(access.body.exp) - Number(access.body.iat), 3600);
  for (const hint of ['access_token', 'refresh_token', 'nonsense']) {
    t.match((await introspect(access_token, web, { token_type_hint: hint })).body, { active: true }, hint);
  }
  t.match((await introspect(refresh_token)).body, {
    active: true,
    client_id: WEB.client_id,
    sub: people.ann.id,
  });
  const machine = await machineToken();
  t.match((await introspect(machine, MACHINE)).body, {
    active: true,
    sub: MACHINE.client_id,
    scope: 'read:users write:users',
  });
});

t.test('inactive tokens: the response says nothing else', async (t) => {
  const { access_token, refresh_token } = await tokensFor(built, { browser });
  const spa = await tokensFor(built, { browser, client: SPA });
  const inactive = { active: false };
  for (const [name, response] of [
    ['of another client', introspect(access_token, OTHER)],
    ['a refresh token of another', introspect(refresh_token, OTHER)],
    ['of a public client, by another', introspect(spa.access_token)],
    ['of a public client, by itself', introspect(spa.access_token, { client_id: SPA.client_id })],
    ['nonsense', introspect('nonsense')],
    ['a JWT of a stranger', introspect(`${access_token.slice(0, -5)}AAAAA`)],
    ['an ID token', introspect(spa.id_token)],
  ] as const) {
    const { status, body } = await response;
    t.equal(status, 200, name);
    t.same(body, inactive, name);
  }
  await form({ token: access_token, ...web }, {}, '/oauth2/revoke');
  t.same((await introspect(access_token)).body, inactive, 'revoked');
  t.match((await introspect(refresh_token)).body, { active: true });
  const { body } = await refresh(built, refresh_token);
  await form({ token: refresh_token, ...web }, {}, '/oauth2/revoke');
  t.same((await introspect(refresh_token)).body, inactive, 'a revoked refresh token');
  t.same((await introspect(String(body.access_token))).body, inactive, 'and what came of it');
  for (const [name, parameters, status, error] of [
    ['no client', { token: 'x' }, 401, 'invalid_client'],
    ['a wrong secret', { token: 'x', ...web, client_secret: 'x' }, 401, 'invalid_client'],
    ['no token', web, 400, 'invalid_request'],
  ] as [string, Record<string, string>, number, string][]) {
    const response = await form(parameters, {}, '/oauth2/introspect');
    t.match(response, { status, body: { error } }, name);
  }
});

t.test('a resource server: the access tokens of the API that are sent to it (RFC 7662 §2.1)', async (t) => {
  const ann = await login('ann');
  const resource = await built.createApplication(ann, { name: 'Our files', type: 'resource', scopes: [] });

  const tokens = await tokensFor(built, { browser });
  const spa = await tokensFor(built, { browser, client: SPA, more: { scope: 'openid read:data' } });
  const machine = await machineToken();
  for (const [name, token, expected] of [
    ['a person’s', tokens.access_token, { client_id: WEB.client_id, sub: people.ann.id, aud: `${base}/api` }],
    ['of a public client', spa.access_token, { client_id: SPA.client_id, scope: 'openid read:data' }],
    ['a machine’s', machine, { client_id: MACHINE.client_id, sub: MACHINE.client_id }],
  ] as const) {
    t.match(
      (await introspect(token, resource)).body,
      { active: true, iss: base, exp: Number, ...expected },
      name,
    );
  }
  const authorization = `Basic ${btoa(`${resource.client_id}:${resource.client_secret}`)}`;
  const byBasic = await form({ token: machine }, { authorization }, '/oauth2/introspect');
  t.match(byBasic, { status: 200, body: { active: true } });

  for (const [name, token] of [
    ['a refresh token', tokens.refresh_token],
    ['an ID token', tokens.id_token],
    ['the token of a login', ann],
    ['a token for another audience', await built.serviceToken('users')],
    ['nonsense', 'nonsense'],
  ] as const) {
    t.same((await introspect(token, resource)).body, { active: false }, name);
  }
  await form({ token: machine, ...MACHINE }, {}, '/oauth2/revoke');
  t.same((await introspect(machine, resource)).body, { active: false }, 'revoked');
  for (const [name, response, error] of [
    [
      'a wrong secret',
      form({ token: 'x', ...resource, client_secret: 'x' }, {}, '/oauth2/introspect'),
      'invalid_client',
    ],
    [
      'it gets no tokens for the API',
      form({ grant_type: 'client_credentials', ...resource, scope: 'read:data' }),
      'invalid_scope',
    ],
  ] as const) {
    t.match((await response).body, { error }, name);
  }
  const revoked = await form({ token: spa.access_token, ...resource }, {}, '/oauth2/revoke');
  t.ok(revoked.status === 200 || revoked.status === 400);
  t.match((await introspect(spa.access_token, resource)).body, { active: true }, 'and ends nobody else’s');

  const admin = await login('admin');
  const status = (value: string) =>
    call('PUT', `/v1/users/${people.ann.id}/status`, admin, { status: value });
  const other = await machineToken();
  t.equal((await status('inactive')).status, 204);
  t.match(
    (await introspect(other, resource)).body,
    { error: 'invalid_client' },
    'its secret has ended with the account of its owner',
  );
  t.equal((await status('active')).status, 204);
});

t.test('an API key: for a resource server and for its own application', async (t) => {
  const ann = await login('ann');
  const resource = await built.createApplication(ann, { name: 'Our files', type: 'resource', scopes: [] });
  const { client_id, client_secret } = await built.createApplication(ann, {
    name: 'Nightly run',
    type: 'machine',
    scopes: ['read:data', 'write:data'],
  });
  const machine = { client_id, client_secret: String(client_secret) };
  const keys = `/api/v1/applications/${client_id}/api-keys`;
  const made = await call('POST', keys, ann, {
    name: 'CI',
    scopes: ['read:data'],
    expires_in: 90,
  });
  const { id, api_key: key } = made.body as { id: string; api_key: string };
  for (const [name, client, expected] of [
    ['a resource server', resource, { active: true, client_id, scope: 'read:data', aud: `${base}/api` }],
    ['its application', machine, { active: true, sub: client_id, exp: Number }],
    ['another application', web, { active: false }],
  ] as const) {
    t.match((await introspect(key, client)).body, expected, name);
  }
  const { exp, iat, jti } = (await introspect(key, machine)).body;
  t.match([Number.isInteger(exp), Number.isInteger(iat), jti], [true, true, id], 'RFC 7662 §2.2');
  t.same((await introspect(`${key.slice(0, -4)}AAAA`, resource)).body, { active: false }, 'an unknown key');
  t.equal((await call('DELETE', `${keys}/${id}`, ann)).status, 204);
  t.same((await introspect(key, resource)).body, { active: false }, 'revoked');
});
