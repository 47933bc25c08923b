import { SINGLE_FACTOR } from '@gatehouse/tokens/acr';
import { ACRS } from '@gatehouse/verify/sign-in';
import { decodeJwt } from 'jose';
import t from 'tap';
import { authorizeUrl, build, codeFor, PASSWORD, SPA, WEB } from '../../build.ts';
import { pkce, refresh, type Tokens, tokensFor } from '../../tokens.ts';

const built = await build(t);
const { call, people } = built;
const ann = people.ann;
const request = (claims: unknown, scope = 'openid', more: Record<string, string> = {}) => ({
  scope,
  claims: typeof claims === 'string' ? claims : JSON.stringify(claims),
  ...more,
});

/** The claims of a person in an ID token, beside those about the sign-in, which it always has. */
const inIdToken = ({ id_token }: Tokens) => {
  const { iss, aud, exp, iat, at_hash, sid, acr, amr, auth_time, ...claims } = decodeJwt(id_token);
  return claims;
};
const atUserInfo = async ({ access_token }: Tokens) => (await call('GET', '/userinfo', access_token)).body;

t.test('discovery says so (OpenID Connect Discovery §3)', async (t) => {
  const { body } = await call('GET', '/.well-known/openid-configuration');
  t.match(body, { claims_parameter_supported: true, acr_values_supported: ACRS });
  const names = ['sub', 'name', 'given_name', 'family_name', 'preferred_username', 'picture', 'updated_at'];
  const more = [
    'locale',
    'zoneinfo',
    'email',
    'email_verified',
    'roles',
    'acr',
    'amr',
    'auth_time',
    'iss',
    'sid',
  ];
  t.same(new Set(body.claims_supported as string[]), new Set([...names, ...more]));
});

t.test('each claim where it was asked for, and only there (OpenID Connect Core §5.5)', async (t) => {
  const claims = {
    userinfo: { name: { essential: true }, preferred_username: null },
    id_token: {
      email: null,
      email_verified: { essential: true },
      updated_at: null,
    },
  };
  const tokens = await tokensFor(built, { more: request(claims) });
  const ofIdToken = {
    email: ann.email,
    email_verified: true,
    updated_at: Number,
    sub: ann.id,
  };
  t.match(inIdToken(tokens), ofIdToken);
  t.same(Object.keys(inIdToken(tokens)).sort(), Object.keys(ofIdToken).sort());
  t.same(await atUserInfo(tokens), { sub: ann.id, name: 'ann', preferred_username: 'ann' });

  const refreshed = (await refresh(built, tokens.refresh_token)).body as Tokens;
  t.match(inIdToken(refreshed), { email: ann.email, email_verified: true, updated_at: Number });
  t.same(await atUserInfo(refreshed), { sub: ann.id, name: 'ann', preferred_username: 'ann' }, 'refreshed');

  const without = await tokensFor(built, { more: { scope: 'openid' } });
  t.same(Object.keys(inIdToken(without)), ['sub']);
  t.same(await atUserInfo(without), { sub: ann.id });
});

t.test('the claims of scopes in the ID token; an application can leave out the profile', async (t) => {
  const token = await built.login('admin');
  const path = `/api/v1/applications/${WEB.client_id}`;
  t.equal((await call('GET', path, token)).body.id_token_profile_claims, true, 'by default');
  const { id, email } = people.admin;
  const profile = { first_name: 'Ada', last_name: 'Byron' };
  await call('PUT', `/v2/users/${id}`, token, { profile });
  const names = { name: 'Ada Byron', given_name: 'Ada', family_name: 'Byron' };
  const ofProfile = { ...names, preferred_username: 'admin' };
  const ofEmail = { email, email_verified: true };
  for (const [isOn, scope, expected] of [
    [true, 'openid profile', ofProfile],
    [true, 'openid profile email', { ...ofProfile, ...ofEmail }],
    [true, 'openid read:profile', {}],
    [false, 'openid profile email', ofEmail],
  ] as const) {
    const changed = await call('PATCH', path, token, { id_token_profile_claims: isOn });
    t.match(changed, { status: 200, body: { id_token_profile_claims: isOn } });
    const tokens = await tokensFor(built, { username: 'admin', more: { scope } });
    t.same(inIdToken(tokens), { sub: id, ...expected }, `${isOn}: ${scope}`);
    const refreshed = (await refresh(built, tokens.refresh_token)).body as Tokens;
    t.same(inIdToken(refreshed), inIdToken(tokens), 'refreshed');
  }
});

t.test(
  'the scope roles: the role of the person, whatever that of the owner of the application',
  async (t) => {
    const token = await built.login('admin');
    const path = `/api/v1/applications/${WEB.client_id}`;
    const more = { scope: 'openid roles' };
    const refused = await built.browser().get(authorizeUrl(more));
    t.equal(refused.url.searchParams.get('error'), 'invalid_scope', 'only for whom it was registered');
    t.match(await call('PATCH', path, token, { scopes: ['openid', 'profile', 'email', 'roles'] }), {
      status: 200,
    });
    for (const [username, role] of [
      ['admin', 'admin'],
      ['ann', 'user'],
    ] as const) {
      const { id: sub } = people[username];
      const tokens = await tokensFor(built, { username, more });
      t.same(inIdToken(tokens), { sub, roles: [role] }, username);
      t.same(await atUserInfo(tokens), { sub, roles: [role] }, username);
      const without = await tokensFor(built, { username, more: { scope: 'openid profile' } });
      t.notOk('roles' in inIdToken(without) || 'roles' in (await atUserInfo(without)), 'not without it');
      const claim = await tokensFor(built, { username, more: request({ id_token: { roles: null } }) });
      t.same(inIdToken(claim), { sub, roles: [role] }, 'by the claims parameter');
    }
    const browser = built.browser();
    const consent = await browser.submit(await browser.get(authorizeUrl(more)), {
      username: 'ann',
      password: PASSWORD,
    });
    t.match(consent.html, 'See your role here: user, editor or admin');
    const machine = { name: 'Machine', type: 'machine', scopes: ['read:data', 'roles'] };
    t.match(await call('POST', '/api/v1/applications', token, machine), { status: 400 });
  },
);

t.test(
  'unknown claims, and what the application may not ask for, are left out without an error',
  async (t) => {
    const token = await built.login('admin');
    const path = `/api/v1/applications/${SPA.client_id}`;
    t.match(await call('PATCH', path, token, { scopes: ['openid', 'read:profile'] }), { status: 200 });
    const claims = {
      userinfo: { email: null, name: null, 'https://example.org/claim': null, __proto__x: null },
      id_token: { email: { essential: true }, nickname: null, gender: { values: ['a'] } },
    };
    const tokens = await tokensFor(built, { client: SPA, more: request(claims) });
    t.same(Object.keys(inIdToken(tokens)), ['sub']);
    t.same(await atUserInfo(tokens), { sub: ann.id, name: 'ann' });
  },
);

t.test('people are asked, and see in their account what they have allowed', async (t) => {
  const browser = built.browser();
  const url = authorizeUrl(request({ userinfo: { name: null } }));
  let page = await browser.get(url);
  page = await browser.submit(page, { username: 'ann', password: PASSWORD });
  t.match(page.url.pathname, /^\/consent\//);
  t.match(page.html, 'See your name and picture');
  page = await browser.submit(page, { decision: 'allow' });
  t.ok(page.url.searchParams.has('code'));
  t.ok((await browser.get(url)).url.searchParams.has('code'), 'once');
  page = await browser.get(authorizeUrl(request({ userinfo: { email: null } })));
  t.match(page.html, /See your email address[^<]*\. <strong class="new">New/);
  t.match((await browser.get('/account/applications')).html, 'See your name and picture');
});

t.test('a claims parameter that is none', async (t) => {
  const browser = built.browser();
  for (const [name, claims] of [
    ['no JSON', '{'],
    ['a list', '[]'],
    ['no known member', '{"other":{}}'],
    ['a text in it', '{"userinfo":"name"}'],
    ['a text for a claim', '{"userinfo":{"name":"x"}}'],
    ['a list for a claim', '{"id_token":{"name":[]}}'],
    ['acr values that are no list', '{"id_token":{"acr":{"essential":true,"values":"x"}}}'],
  ] as const) {
    const { url } = await browser.get(authorizeUrl(request(claims)));
    t.equal(url.searchParams.get('error'), 'invalid_request', name);
  }
  const { url } = await browser.get(authorizeUrl(request({ userinfo: {} }, 'email')));
  t.equal(url.searchParams.get('error'), 'invalid_request', 'without openid');
});

t.test(
  'the ID token and the access token say how and when somebody signed in, whatever is asked',
  async (t) => {
    const browser = built.browser();
    const own = [undefined, SINGLE_FACTOR];
    for (const [name, more] of [
      ['nothing', { scope: 'openid' }],
      ['ours', { scope: 'openid', acr_values: SINGLE_FACTOR }],
      ['others', { scope: 'openid', acr_values: '1 2 urn:example' }],
      ['a claim', request({ id_token: { acr: null } })],
      ['an essential claim', request({ id_token: { acr: { essential: true } } })],
      [
        'an essential claim with ours',
        request({ id_token: { acr: { essential: true, values: ['1', ...own] } } }),
      ],
      ['a voluntary claim with others', request({ id_token: { acr: { values: ['1'] } } })],
    ] as [string, Record<string, string>][]) {
      const tokens = await tokensFor(built, { browser, more });
      const refreshed = (await refresh(built, tokens.refresh_token)).body as Tokens;
      const { auth_time } = decodeJwt(tokens.id_token);
      t.type(auth_time, 'number', name);
      const said = { acr: SINGLE_FACTOR, auth_time };
      for (const { id_token, access_token } of [tokens, refreshed]) {
        t.match(decodeJwt(id_token), { ...said, amr: ['pwd'] }, name);
        t.match(decodeJwt(access_token), said, name);
      }
    }
  },
);

t.test('an essential acr of which there is none is an error (§5.5.1.1)', async (t) => {
  for (const acr of [
    { essential: true, values: ['1', '2'] },
    { essential: true, value: '1' },
    { essential: true, values: [] },
  ]) {
    const { url } = await built.browser().get(authorizeUrl(request({ id_token: { acr } })));
    t.equal(url.searchParams.get('error'), 'unmet_authentication_requirements', JSON.stringify(acr));
  }
});

t.test('in a pushed request, too (RFC 9126)', async (t) => {
  const { redirect_uri, ...client } = WEB;
  const { code_verifier, challenge } = pkce();
  const parameters = {
    response_type: 'code',
    redirect_uri,
    ...challenge,
    ...request({ id_token: { name: null } }),
  };
  const { body } = await built.form({ ...parameters, ...client }, {}, '/oauth2/par');
  const more = { request_uri: String(body.request_uri) };
  const code = await codeFor(built.browser(), more);
  const exchange = { grant_type: 'authorization_code', code, code_verifier, ...WEB };
  const { body: tokens } = await built.json(exchange);
  t.match(inIdToken(tokens as Tokens), { name: 'ann' });
});
