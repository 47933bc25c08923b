import { until } from '@gatehouse/testing/processes';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import * as client from 'openid-client';
import t from 'tap';
import { readIdentityProviders } from '../../../src/features/identity-providers/provider-settings.ts';
import { build, NATIVE, PASSWORD, signInAndAllow } from '../../build.ts';
import { noticeOf, signedIn } from '../../pages.ts';
import { dpopKey, signerOf, tokensFor } from '../../tokens.ts';
import { leave } from '../identity-providers/upstream.ts';
import { ACCESS_TOKEN, EXCHANGE } from './exchange-set-up.ts';

// draft-ietf-oauth-identity-assertion-authz-grant-03: one deployment issues (§4.3), and another one that trusts it receives (§4.4).

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const [ID_JAG, ID_TOKEN, REFRESH_TOKEN] = ['id-jag', 'id_token', 'refresh_token'].map(
  (type) => `urn:ietf:params:oauth:token-type:${type}`,
) as [string, string, string];
const masterKey = Buffer.alloc(32, 9);
const redirect_uri = 'https://wiki.example.org/callback';
const issuing = await build(t, { masterKey, checkResponses: true });
const { call, form } = issuing;
const [admin, ann] = [await issuing.login('admin'), await issuing.login('ann')];
const web = (name: string) => ({
  ...{
    name,
    type: 'web',
    scopes: ['openid', 'profile', 'email', 'read:profile'],
    redirect_uris: [redirect_uri],
  },
});
/** The receiving deployment, as an application of the issuing one. */
const chatHere = await issuing.createApplication(admin, web('Chat'));
const receiving = await build(t, {
  config: {
    identityProviders: readIdentityProviders([
      { id: 'acme', label: 'Acme', issuer: issuing.base, ...chatHere },
    ]),
    trustedIssuerNetworks: ['127.0.0.0/8'],
  },
});
const callback = `${receiving.base}/sign-in/providers/acme/callback`;
await call('PATCH', `/api/v1/applications/${chatHere.client_id}`, admin, { redirect_uris: [callback] });

const chatAdmin = await receiving.login('admin');
const trusted = await receiving.call('POST', '/api/v1/trusted-issuers', chatAdmin, {
  ...{ issuer: issuing.base, kinds: ['enterprise'], algorithms: ['RS256', 'ES256'] },
});
if (trusted.status !== 201) throw new Error(JSON.stringify(trusted.body));
const [notes, drafts] = ['https://notes.example.com/api', 'https://drafts.example.com/api'] as const;
for (const identifier of [notes, drafts]) {
  const scopes = [{ name: 'notes:read', description: 'Read your notes' }];
  await receiving.call('POST', '/api/v1/resources', chatAdmin, { identifier, name: identifier, scopes });
}
/** The application, at both. */
const wiki = { ...(await issuing.createApplication(ann, web('Wiki'))), redirect_uri };
const wikiThere = await receiving.createApplication(chatAdmin, web('Wiki'));
const path = `/api/v1/applications/${wiki.client_id}`;
const rule = {
  ...{ authorization_server: receiving.base, client_id: wikiThere.client_id },
  ...{ scopes: ['read:profile', 'notes:read'] },
};
const allow = (rules: unknown, by = admin, at = path) =>
  call('PATCH', at, by, { identity_assertions: rules });

const paula = await issuing.createPerson('paula');
const there = await receiving.createPerson('paula-there');
const tokens = (more: Parameters<typeof tokensFor>[1] = {}) =>
  tokensFor(issuing, { client: wiki, username: 'paula', more: { scope: 'openid read:profile' }, ...more });
type Credentials = { client_id: string; client_secret?: string };
const credentials = ({ client_id, client_secret }: Credentials) => ({
  ...{ client_id, ...(client_secret === undefined ? {} : { client_secret }) },
});
const ask = (
  subject_token: string,
  more: Record<string, string> = {},
  by: Credentials = wiki,
  headers: Record<string, string> = {},
) =>
  form(
    {
      ...{ grant_type: EXCHANGE, requested_token_type: ID_JAG, subject_token, ...credentials(by) },
      ...{ subject_token_type: ID_TOKEN, audience: receiving.base, ...more },
    },
    headers,
  );
const redeem = (assertion: string, more: Record<string, string> = {}, headers: Record<string, string> = {}) =>
  receiving.form({ grant_type: JWT_BEARER, assertion, ...wikiThere, ...more }, headers);

t.test('only an admin sets the servers, for an application that can keep a secret', async (t) => {
  t.equal((await allow([rule], ann)).status, 403, 'the owner');
  const draft = { ...web('New'), identity_assertions: [rule] };
  t.equal((await call('POST', '/api/v1/applications', ann, draft)).status, 403, 'with a new application');
  t.equal(
    (await call('PATCH', path, ann, { name: 'Wiki', identity_assertions: [] })).status,
    200,
    'the same',
  );
  const wrong: [string, object[]][] = [
    ['0.authorization_server', [{ ...rule, authorization_server: 'http://chat.example.com' }]],
    ['0.authorization_server', [{ ...rule, authorization_server: 'https://chat.example.com/?a=b' }]],
    ['0.authorization_server', [{ ...rule, authorization_server: 'chat' }]],
    ['0.authorization_server', [{ ...rule, authorization_server: issuing.base }]],
    ['0.authorization_server', [{ ...rule, authorization_server: `${issuing.base}/` }]],
    ['0.authorization_server', [{ ...rule, authorization_server: `${issuing.base}/api` }]],
    ['0.client_id', [{ ...rule, client_id: '' }]],
    ['0.scopes', [{ ...rule, scopes: [] }]],
    ['0.scopes', [{ ...rule, scopes: ['a b'] }]],
    ['0.resources', [{ ...rule, resources: [] }]],
    ['0.resources', [{ ...rule, resources: ['notes'] }]],
    ['0.resources', [{ ...rule, resources: ['javascript:alert(1)'] }]],
    ['', [rule, rule]],
  ];
  for (const [field, rules] of wrong) {
    const { status, body } = await allow(rules);
    const at = ['identity_assertions', field].filter(Boolean).join('.');
    t.match([status, body.error], [400, { details: [{ field: at }] }], at);
  }
  for (const type of ['native', 'spa', 'machine', 'resource']) {
    const { redirect_uris } = web('');
    const more = ['native', 'spa'].includes(type) ? { redirect_uris } : {};
    const scopes = type === 'resource' ? [] : ['read:data'];
    const { status } = await call('POST', '/api/v1/applications', admin, {
      ...{ name: type, type, scopes, ...more, identity_assertions: [rule] },
    });
    t.equal(status, 400, type);
  }
  const { id_token } = await tokens();
  t.match((await ask(id_token)).body, { error: 'unauthorized_client' }, 'before it is set');
  t.equal((await allow([rule])).status, 200);
  t.match((await call('GET', path, ann)).body.identity_assertions, [rule], 'the owner sees it');
});

t.test('openid-client gets an assertion here, and a token with it there', async (t) => {
  const visitor = await signedIn(receiving, 'paula-there');
  const url = await leave(visitor, await visitor.get('/account/connected-accounts'), '/acme/connect"');
  const { pathname, search } = new URL(url);
  const response = await signInAndAllow(issuing.browser(), pathname + search, 'paula');
  t.match(noticeOf(await visitor.get(response.url.href)), 'The account is connected');

  const discover = (base: string, { client_id, client_secret }: Credentials) =>
    client.discovery(new URL(base), client_id, undefined, client.ClientSecretPost(client_secret), {
      execute: [client.allowInsecureRequests],
    });
  const [here, elsewhere] = [await discover(issuing.base, wiki), await discover(receiving.base, wikiThere)];
  t.match(here.serverMetadata(), {
    identity_chaining_requested_token_types_supported: [ID_JAG],
    authorization_grant_profiles_supported: ['urn:ietf:params:oauth:grant-profile:id-jag'],
  });
  const { id_token, refresh_token } = await tokens();
  for (const [subject_token_type, subject_token] of [
    [ID_TOKEN, id_token],
    [REFRESH_TOKEN, refresh_token],
  ] as const) {
    const issued = await client.genericGrantRequest(here, EXCHANGE, {
      ...{ requested_token_type: ID_JAG, subject_token, subject_token_type },
      ...{ audience: receiving.base, resource: notes, scope: 'notes:read' },
    });
    t.match(issued, {
      ...{ issued_token_type: ID_JAG, token_type: 'n_a', expires_in: 300, scope: 'notes:read' },
      refresh_token: undefined,
    });
    const { access_token: assertion } = issued;
    t.match(decodeProtectedHeader(assertion), { typ: 'oauth-id-jag+jwt', alg: 'RS256' });
    const { exp = 0, iat = 0, jti, ...claims } = decodeJwt(assertion);
    const { auth_time, acr, amr } = decodeJwt(id_token);
    t.ok(auth_time, subject_token_type);
    t.strictSame([exp - iat, typeof jti], [300, 'string']);
    t.strictSame(claims, {
      ...{ iss: issuing.base, sub: paula, aud: receiving.base, client_id: wikiThere.client_id },
      ...{ resource: notes, scope: 'notes:read', auth_time, ...(acr ? { acr } : {}), amr },
    });
    const received = await client.genericGrantRequest(elsewhere, JWT_BEARER, { assertion });
    t.match(decodeJwt(received.access_token), { sub: there, aud: notes, scope: 'notes:read' });
    t.match(received, { scope: 'notes:read', refresh_token: undefined });
    t.match((await redeem(assertion)).body, { error: 'invalid_grant' }, 'twice');
    t.equal((await call('GET', '/api/v1/auth/permissions', assertion)).status, 401, 'no access token');
    t.match((await ask(assertion)).body, { error: 'invalid_grant' }, 'no ID token');
    t.match(
      (await form({ grant_type: JWT_BEARER, assertion, ...credentials(wiki) })).body,
      { error: 'invalid_grant' },
      'not here (§8.3)',
    );
  }
});

t.test('the audit log has the person, the server and the scopes', async (t) => {
  const query = `filter[action]=identity_assertion.issued&filter[subject]=${paula}`;
  const entries = async () =>
    (await call('GET', `/api/v1/audit?${query}`, admin)).body.data as { details: object }[];
  await until(async () => (await entries()).length === 2, 3000);
  const details = { audience: receiving.base, resource: notes, scope: 'notes:read', jti: String };
  t.match((await entries())[0], { actor: null, client: wiki.client_id, details });
  t.notMatch(JSON.stringify(await entries()), /eyJ/);
});

t.test('a request outside the rule is refused', async (t) => {
  const { id_token } = await tokens();
  const outcome = async (more: Record<string, string> = {}) => {
    const { status, body } = await ask(id_token, more);
    return status === 200 ? decodeJwt(String(body.access_token)) : body.error;
  };
  t.match(await outcome(), { scope: 'read:profile notes:read', resource: undefined });
  t.match(await outcome({ resource: drafts }), { resource: drafts });
  for (const resource of [
    'notes',
    'javascript:alert(1)',
    'data:,x',
    'http://notes.example.com/',
    `${notes}#a`,
  ])
    t.equal(await outcome({ resource }), 'invalid_target', resource);
  t.equal(await outcome({ scope: 'notes:write' }), 'invalid_scope');
  t.equal(await outcome({ scope: 'notes:read notes:write' }), 'invalid_scope');
  t.equal(await outcome({ audience: 'https://mail.example.com' }), 'invalid_target');
  t.equal(await outcome({ audience: `${receiving.base}/` }), 'invalid_target');
  t.equal(await outcome({ audience: '' }), 'invalid_request');
  t.equal(await outcome({ actor_token: id_token, actor_token_type: ID_TOKEN }), 'invalid_request');
  t.equal(await outcome({ subject_token_type: ACCESS_TOKEN }), 'invalid_request');
  const plain = { requested_token_type: ACCESS_TOKEN, subject_token_type: ACCESS_TOKEN };
  const { access_token } = await tokens();
  t.match((await ask(access_token, plain)).body, { error: 'invalid_grant' }, 'no other exchange');
  await allow([{ ...rule, resources: [notes] }]);
  t.match(await outcome(), { resource: notes }, 'the only one');
  t.equal(await outcome({ resource: drafts }), 'invalid_target');
  await allow([{ ...rule, resources: [notes, drafts] }]);
  t.equal(await outcome(), 'invalid_target', 'one of two');
  t.match(await outcome({ resource: drafts }), { resource: drafts });
  await allow([rule]);
});

t.test('an assertion is bound to the key of its request, and works with it alone', async (t) => {
  const [key, other] = [await dpopKey(), await dpopKey()];
  const { id_token } = await tokens();
  const bound = async () => {
    const dpop = await key.proof('POST', `${issuing.base}/oauth2/token`);
    return String((await ask(id_token, {}, wiki, { dpop })).body.access_token);
  };
  t.match(decodeJwt(await bound()), { cnf: { jkt: key.thumbprint } });
  const proof = (by: typeof key) => by.proof('POST', `${receiving.base}/oauth2/token`);
  t.match((await redeem(await bound())).body, { error: 'invalid_grant' }, 'without a proof');
  const foreign = await redeem(await bound(), {}, { dpop: await proof(other) });
  t.match(foreign.body, { error: 'invalid_grant' }, 'with another key');
  t.match((await redeem(await bound(), {}, { dpop: await proof(key) })).body, { token_type: 'DPoP' });
});

t.test('subject tokens that are not accepted', async (t) => {
  const { id_token, refresh_token, access_token } = await tokens();
  const strangers = { ...(await issuing.createApplication(ann, web('Stranger'))), redirect_uri };
  const foreign = await tokens({ client: strangers });
  const withoutOpenid = await tokens({ more: { scope: 'read:profile' } });
  const native = await tokens({ client: NATIVE, more: { scope: 'openid' } });
  const sign = await signerOf(await issuing.database(), { masterKey, issuer: issuing.base });
  const typed = await sign({
    ...{ subject: paula, clientId: wiki.client_id, audience: wiki.client_id, scope: 'openid', lifetime: 60 },
  });
  const refusals: [string, string, string, Record<string, string>?, Credentials?][] = [
    ['the ID token of another client', 'invalid_grant', foreign.id_token],
    ['an access token', 'invalid_grant', access_token],
    ['a typed token for the client', 'invalid_grant', typed.token],
    ['a changed ID token', 'invalid_grant', `${id_token.slice(0, -6)}AAAAAA`],
    ['no JWT', 'invalid_grant', 'eyJ'],
    ['a refresh token as an ID token', 'invalid_grant', refresh_token],
    ['an ID token as a refresh token', 'invalid_grant', id_token, { subject_token_type: REFRESH_TOKEN }],
    [
      'the refresh token of another client',
      'invalid_grant',
      foreign.refresh_token,
      { subject_token_type: REFRESH_TOKEN },
    ],
    [
      'a refresh token without openid',
      'invalid_grant',
      withoutOpenid.refresh_token,
      { subject_token_type: REFRESH_TOKEN },
    ],
    ['a public client', 'unauthorized_client', native.id_token, {}, { client_id: NATIVE.client_id }],
    ['a client without a rule', 'unauthorized_client', foreign.id_token, {}, strangers],
    ['a wrong secret', 'invalid_client', id_token, {}, { ...wiki, client_secret: 'wrong' }],
  ];
  for (const [name, error, token, more, by] of refusals) {
    const { status, body } = await ask(token, more, by);
    t.match([status, body.error], [error === 'invalid_client' ? 401 : 400, error], name);
  }
});

t.test('nothing is issued once the sign-in has ended', async (t) => {
  const sara = await issuing.createPerson('sara');
  const other = { ...(await issuing.createApplication(ann, web('Other'))), redirect_uri };
  let password = PASSWORD;
  const status = (it: string) => call('PUT', `/v2/users/${sara}/status`, admin, { status: it });
  const account = (name: string, more: object = {}) =>
    call('POST', `/api/v1/users/${sara}/${name}`, admin, more);
  type Case = { refresh_token: string; browser: ReturnType<typeof issuing.browser> };
  const ends: Record<string, (it: Case) => Promise<unknown>> = {
    'the refresh token is revoked': ({ refresh_token: token }) =>
      form({ token, ...credentials(wiki) }, {}, '/oauth2/revoke'),
    'the person signs out': async ({ browser }) =>
      browser.submit(await browser.get('/account'), {}, '/account/sign-out'),
    'the sessions end': () => call('DELETE', `/api/v1/sessions?user_id=${sara}`, admin),
    'all access is revoked': () => account('revocations'),
    'the person is deactivated': () => status('inactive'),
    'the person is active again': () => status('inactive').then(() => status('active')),
    async 'the password is changed'() {
      const new_password = 'another battery staple';
      const login = await issuing.login('sara', password);
      await call('PUT', `/v2/users/${sara}/password`, login, { current_password: password, new_password });
      password = new_password;
    },
    'the rule is taken back': () => allow([]),
    'the person is deleted': () => call('DELETE', `/v2/users/${sara}`, admin),
  };
  for (const [name, end] of Object.entries(ends)) {
    await Promise.all([status('active'), allow([rule])]);
    const browser = issuing.browser();
    // What the person has allowed another application does not count.
    await tokens({ client: other, username: 'sara', password, browser });
    const issued = await tokens({ username: 'sara', password, browser });
    const again = { subject_token_type: REFRESH_TOKEN };
    for (const [token, more] of [[issued.id_token], [issued.refresh_token, again]] as const)
      t.equal((await ask(token, more)).status, 200, name);
    await end({ ...issued, browser });
    if (name === 'the password is changed') {
      // Another sign-in brings nothing back, from the next second on.
      const { iat = 0 } = decodeJwt(issued.id_token);
      await until(async () => Date.now() / 1000 >= iat + 1, 3000);
      await tokens({ username: 'sara', password });
    }
    const error = name === 'the rule is taken back' ? 'unauthorized_client' : 'invalid_grant';
    for (const [token, more] of [[issued.id_token], [issued.refresh_token, again]] as const)
      t.match((await ask(token, more)).body, { error }, name);
  }
});

t.test(
  'a lower role, fewer scopes and ended credentials stop nothing, and a deleted application gets nothing',
  async (t) => {
    const rita = await issuing.createPerson('rita');
    const role = (it: string) => call('PUT', `/v2/users/${rita}/role`, admin, { role: it });
    t.ok((await role('editor')).status < 300);
    // The page asks about credentials of people who have some.
    await issuing.createApplication(await issuing.login('rita'), { ...web('Of rita'), scopes: ['openid'] });
    const app = { ...(await issuing.createApplication(ann, web('Short-lived'))), redirect_uri };
    const at = `/api/v1/applications/${app.client_id}`;
    await allow([rule], admin, at);
    const browser = issuing.browser();
    const { id_token, refresh_token } = await tokens({ client: app, username: 'rita', browser });
    const outcomes = async () => {
      const more = { subject_token_type: REFRESH_TOKEN };
      const both = [await ask(id_token, {}, app), await ask(refresh_token, more, app)];
      return both.map(({ status }) => status);
    };
    const events: [name: string, status: number, happen: () => Promise<{ status: number }>][] = [
      ['at first', 200, async () => ({ status: 200 })],
      ['a lower role', 200, () => role('user')],
      ['fewer scopes', 200, () => call('PATCH', at, ann, { scopes: ['openid', 'profile'] })],
      [
        'the credentials of the person’s own applications end',
        200,
        async () =>
          browser.confirm(await browser.get('/account/applications'), 'end-credentials', {
            confirmation: 'rita',
          }),
      ],
      ['the application is deleted', 401, () => call('DELETE', at, ann)],
    ];
    for (const [name, status, happen] of events) {
      t.ok((await happen()).status < 300, name);
      t.strictSame(await outcomes(), [status, status], name);
    }
  },
);

t.test('the rules end with the admin who gave them', async (t) => {
  const boss = await issuing.createPerson('boss');
  const role = (it: string) => call('PUT', `/v2/users/${boss}/role`, admin, { role: it });
  const made = { ...(await issuing.createApplication(ann, web('Of the boss'))), redirect_uri };
  const at = `/api/v1/applications/${made.client_id}`;
  const rules = async () => (await call('GET', at, ann)).body.identity_assertions as object[];
  const givenBy: Record<string, (by: string) => Promise<unknown>> = {
    'the boss': async (by) => allow([rule], by, at),
    // Somebody else who sends them again gives them, too.
    'another admin after that': async (by) => [await allow([rule], by, at), await allow([rule], admin, at)],
    'the boss, and fewer by the owner': async (by) => [
      await allow([rule, { ...rule, authorization_server: 'https://mail.example.com' }], by, at),
      t.equal((await allow([rule], ann, at)).status, 200, 'the owner takes one back'),
      t.equal((await allow([{ ...rule, scopes: ['a'] }], ann, at)).status, 403, 'the owner changes one'),
    ],
  };
  for (const [name, give] of Object.entries(givenBy)) {
    await role('admin');
    await give(await issuing.login('boss'));
    const { id_token } = await tokens({ client: made });
    t.equal((await ask(id_token, {}, made)).status, 200, name);
    const expected = name === 'another admin after that' ? [200, 1] : [400, 0];
    await role('user');
    t.strictSame([(await ask(id_token, {}, made)).status, (await rules()).length], expected, name);
    await role('admin');
    t.equal((await rules()).length, expected[1], 'another promotion brings nothing back');
  }
});

t.test('rules that their giver could no longer give have no effect', async (t) => {
  const { id_token } = await tokens();
  t.equal((await ask(id_token)).status, 200);
  const applications = (await issuing.database()).collection('applications');
  for (const earlier of [
    { $inc: { 'identity_assertions_given.epoch': -1 } },
    { $unset: { identity_assertions_given: 1 } },
  ]) {
    await allow([rule]);
    await applications.updateOne({ _id: wiki.client_id as never }, earlier);
    // The application is read again.
    await call('PATCH', path, admin, { name: 'Wiki' });
    t.match((await ask(id_token)).body, { error: 'invalid_target' });
  }
  await allow([rule]);
});

t.test('an ID token that has expired gives none', async (t) => {
  const { lifetimes } = issuing.config;
  const origin = await issuing.replica({ lifetimes: { ...lifetimes, accessToken: 2 } });
  const { refresh_token } = await tokens();
  const response = await fetch(`${origin}/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token, ...credentials(wiki) }),
  });
  const { id_token } = (await response.json()) as { id_token: string };
  t.equal((await ask(id_token)).status, 200);
  const { exp = 0 } = decodeJwt(id_token);
  await until(async () => Date.now() / 1000 >= exp, 3000);
  t.match((await ask(id_token)).body, { error: 'invalid_grant' });
});

t.test('another owner does not get the setting', async (t) => {
  t.match((await call('GET', path, admin)).body.identity_assertions, [rule]);
  t.equal((await call('POST', `${path}/transfer`, admin, { to: 'admin' })).status, 200);
  t.strictSame((await call('GET', path, admin)).body.identity_assertions, []);
});
