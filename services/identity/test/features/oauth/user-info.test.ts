import t from 'tap';
import { build, SPA, signInAndAllow } from '../../build.ts';
import { dpopKey, tokensFor } from '../../tokens.ts';
import { JPEG, upload } from '../account/picture/sample-pictures.ts';

const built = await build(t, { checkResponses: true });
const { base, call, people } = built;
const browser = built.browser();
const tokenFor = async (scope: string) =>
  (await tokensFor(built, { browser, client: SPA, more: { scope } })).access_token;

async function userInfo(headers: Record<string, string>, method = 'GET', path = '/userinfo', body?: string) {
  const response = await fetch(base + path, { method, headers, ...(body === undefined ? {} : { body }) });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>,
  };
}

t.test('the fields of interface.md 2.3 that the scopes allow, the username, and no other', async (t) => {
  const bare = await userInfo({ authorization: `Bearer ${await tokenFor('openid profile')}` });
  const known = ['name', 'preferred_username', 'sub', 'updated_at'];
  t.same(Object.keys(bare.body).sort(), known, 'what is not known is left out');

  const page = await signInAndAllow(browser, '/account');
  const profile = {
    name: 'Ann Example',
    first_name: 'Ann',
    last_name: 'Example',
    locale: 'de-AT',
    zoneinfo: 'Europe/Vienna',
    phone: '+49 30 123456',
  };
  t.equal((await browser.submit(page, profile, 'first_name')).status, 200);
  t.equal((await browser.submit(page, upload(JPEG), 'multipart/form-data')).status, 200);
  const sub = people.ann.id;
  const ofEmail = { email: people.ann.email, email_verified: true };
  const ofProfile = {
    name: 'Ann Example',
    given_name: 'Ann',
    family_name: 'Example',
    preferred_username: 'ann',
    picture: /^http.*\/account\/pictures\/[\w-]+$/,
    locale: 'de-AT',
    zoneinfo: 'Europe/Vienna',
    updated_at: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  };
  for (const [scope, expected] of [
    ['openid', { sub }],
    ['openid email', { sub, ...ofEmail }],
    ['openid profile', { sub, ...ofProfile }],
    ['openid read:profile', { sub, ...ofProfile }],
    ['openid profile read:profile', { sub, ...ofProfile }],
    ['openid profile email', { sub, ...ofProfile, ...ofEmail }],
    ['openid read:users read:data', { sub }],
  ] as const) {
    const token = await tokenFor(scope);
    for (const method of ['GET', 'POST']) {
      const { status, body, headers } = await userInfo({ authorization: `Bearer ${token}` }, method);
      t.equal(status, 200, `${method} ${scope}`);
      t.match(body, expected, scope);
      t.same(Object.keys(body).sort(), Object.keys(expected).sort(), `${scope}: exactly`);
      t.equal(headers.get('cache-control'), 'no-store');
      t.match(headers.get('content-type'), /^application\/json/);
    }
  }
});

t.test('as OpenID Connect Core §5.1 has it, for an application that pins it', async (t) => {
  const admin = await built.login('admin');
  const pin = (profiles: object) =>
    call('PATCH', `/api/v1/applications/${SPA.client_id}`, admin, { profiles });
  t.match(await pin({ userinfo: 'else' }), { status: 400 });
  t.match(await pin({ userinfo: 'openid' }), { status: 200 });
  const token = await tokenFor('openid profile email');
  const { body } = await userInfo({ authorization: `Bearer ${token}` });
  const now = Date.now() / 1000;
  t.match(body, {
    sub: people.ann.id,
    name: 'Ann Example',
    preferred_username: 'ann',
    email: people.ann.email,
    email_verified: true,
  });
  t.ok(
    Number.isInteger(body.updated_at) && Math.abs(Number(body.updated_at) - now) < 600,
    'seconds since 1970',
  );
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const inBody = await userInfo(form, 'POST', '/userinfo', `access_token=${token}`);
  t.match(inBody, { status: 200, body }, 'RFC 6750 §2.2');
  t.match(await pin({}), { status: 200 });
  const unpinned = await userInfo({ authorization: `Bearer ${await tokenFor('openid profile')}` });
  t.type(unpinned.body.updated_at, 'string');
});

t.test('the default is a setting', async (t) => {
  const base = await built.replica({ userInfo: 'openid' });
  const { access_token: token } = await tokensFor(built, { client: SPA, more: { scope: 'openid profile' } });
  const response = await fetch(`${base}/userinfo`, { headers: { authorization: `Bearer ${token}` } });
  t.match(await response.json(), { updated_at: Number, preferred_username: 'ann' });
});

t.test('a token that is bound to a key', async (t) => {
  const key = await dpopKey();
  const dpop = await key.proof('POST', `${base}/oauth2/token`);
  const { access_token: token } = await tokensFor(built, { browser, client: SPA, headers: { dpop } });
  const url = `${base}/userinfo`;
  for (const method of ['GET', 'POST']) {
    const proof = await key.proof(method, url, token);
    const reply = await userInfo({ authorization: `DPoP ${token}`, dpop: proof }, method);
    t.match(reply, { status: 200, body: { sub: people.ann.id } });
    const replayed = await userInfo({ authorization: `DPoP ${token}`, dpop: proof }, method);
    t.equal(replayed.status, 401, 'the same proof once more');
  }
  const form = {
    'content-type': 'application/x-www-form-urlencoded',
    dpop: await key.proof('POST', url, token),
  };
  const inForm = await userInfo(form, 'POST', '/userinfo', `access_token=${token}`);
  t.equal(inForm.status, 401, 'RFC 9449 §7.1 has the header only');
  const stranger = await dpopKey();
  for (const [name, headers] of [
    ['as Bearer', { authorization: `Bearer ${token}` }],
    ['without a proof', { authorization: `DPoP ${token}` }],
    ['a proof for another method', { dpop: await key.proof('POST', url, token) }],
    ['a proof for another address', { dpop: await key.proof('GET', `${base}/v1/users`, token) }],
    ['a proof without the token', { dpop: await key.proof('GET', url) }],
    ['a proof of another key', { dpop: await stranger.proof('GET', url, token) }],
  ] as [string, Record<string, string>][]) {
    const reply = await userInfo({ authorization: `DPoP ${token}`, ...headers });
    t.equal(reply.status, 401, name);
    t.match(reply.headers.get('www-authenticate'), /^DPoP .*error="invalid_(?:token|dpop_proof)"/, name);
  }
});

t.test('errors (RFC 6750 §3)', async (t) => {
  const token = await tokenFor('openid');
  t.match(await userInfo({ authorization: `Bearer ${await built.login()}` }), { status: 200 });
  const machine = await built.machineToken();
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const { id_token } = await tokensFor(built, { browser, client: SPA });
  const realm = 'Bearer realm="gatehouse"';
  const inForm = `access_token=${token}`;
  const json = { 'content-type': 'application/json' };
  const bearer = (it: string) => ({ authorization: `Bearer ${it}` });
  const posted = (body: string, headers: Record<string, string> = form) =>
    userInfo(headers, 'POST', '/userinfo', body);
  for (const [error, status, challenge, rows] of [
    [
      undefined,
      401,
      realm,
      {
        'no token': userInfo({}),
        'in the query': userInfo({}, 'GET', `/userinfo?access_token=${token}`),
        'a form without one': posted('x=y'),
        'an empty one in a form': posted('access_token='),
        'in JSON': posted(JSON.stringify({ access_token: token }), json),
      },
    ],
    [
      'invalid_token',
      401,
      `${realm}, error="invalid_token"`,
      {
        nonsense: userInfo(bearer('x')),
        'an ID token': userInfo(bearer(id_token)),
        cut: userInfo(bearer(token.slice(0, -1))),
        'cut, in a form': posted(inForm.slice(0, -1)),
      },
    ],
    [
      'invalid_request',
      400,
      `${realm}, error="invalid_request"`,
      {
        'two in a form': posted(`${inForm}&${inForm}`),
        'in the header and a form': posted(inForm, { ...form, ...bearer(token) }),
      },
    ],
    [
      'insufficient_scope',
      403,
      `${realm}, error="insufficient_scope", scope="openid"`,
      {
        'without openid': userInfo(bearer(await tokenFor('profile email'))),
        'a machine': userInfo(bearer(machine)),
      },
    ],
  ] as const) {
    for (const [name, reply] of Object.entries(rows)) {
      const { status: actual, body, headers } = await reply;
      t.equal(actual, status, name);
      t.equal(body.error, error, name);
      t.same(Object.keys(body).sort(), error === undefined ? [] : ['error', 'error_description'], name);
      t.equal(headers.get('www-authenticate'), challenge, name);
      t.equal(headers.get('cache-control'), 'no-store', name);
    }
  }
  for (const [name, authorization] of [
    ['no scheme', token],
    ['an empty token', 'Bearer '],
    ['Basic', `Basic ${btoa('a:b')}`],
    ['two tokens', `Bearer ${token} ${token}`],
    ['DPoP for an unbound one', `DPoP ${token}`],
  ] as const) {
    t.equal((await userInfo({ authorization })).status, 401, name);
  }
  const put = await userInfo({ authorization: `Bearer ${token}` }, 'PUT');
  t.equal(put.status, 405);
  t.match(put.headers.get('allow'), /GET.*POST/);
});
