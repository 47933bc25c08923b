import { randomUUID } from 'node:crypto';
import { until } from '@gatehouse/testing/processes';
import { createVerifier } from '@gatehouse/verify/verifier';
import { decodeJwt, type JWTPayload } from 'jose';
import * as client from 'openid-client';
import t from 'tap';
import { build, PASSWORD } from '../../build.ts';
import { createAccount, linkTo, mailsOf, signedIn } from '../../pages.ts';
import { untilDead } from '../../tokens.ts';
import { signInBy, startUpstream, verified } from '../identity-providers/upstream.ts';

// draft-ietf-oauth-identity-assertion-authz-grant as the authorization server of the resource.

const NEW_PASSWORD = 'another battery staple';
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const upstream = await startUpstream(t);
const stranger = await startUpstream(t, 'second');
const built = await build(t, {
  config: {
    identityProviders: stranger.settings(),
    ...{ providerNetworks: ['127.0.0.0/8'], trustedIssuerNetworks: ['127.0.0.0/8'] },
  },
});
for (const it of [upstream, stranger]) it.start(built.base);
const { call, form, base } = built;
const [admin, ann] = [await built.login('admin'), await built.login('ann')];

const provider = {
  ...{ id: 'acme', label: 'Acme', issuer: upstream.issuer, client_id: 'gatehouse' },
  client_secret: 'the-secret-of-gatehouse-at-the-other-provider',
};
const addProvider = () => call('POST', '/api/v1/identity-providers', admin, provider);
const changeProvider = (changes: object) => call('PATCH', '/api/v1/identity-providers/acme', admin, changes);
await addProvider();

/** A person who has signed in by the provider. */
const email = 'cora@elsewhere.example';
const owner = built.browser();
await createAccount(owner, '/account', { username: 'cora', email });
await owner.submit(await owner.get(await linkTo(built, email)), {});
const visitor = built.browser();
const asked = await signInBy(upstream, visitor, verified('cora'));
await visitor.submit(asked, { username: 'cora', password: PASSWORD });

const identifier = 'https://notes.example.com/api';
const scopes = [{ name: 'notes:read', description: 'Read your notes' }];
await call('POST', '/api/v1/resources', ann, { identifier, name: 'Notes', scopes });
const application = (type: string, more: object = {}) =>
  built.createApplication(ann, {
    name: type,
    type,
    scopes: ['openid', 'read:profile', 'read:data'],
    ...more,
  });
const redirect_uris = ['https://agent.example.org/callback'];
const agent = await application('web', { redirect_uris });
const other = await application('web', { redirect_uris });
const native = await application('native', { redirect_uris });
const strict = await application('web', { redirect_uris, require_second_factor: true });
const server = await application('resource', { scopes: [] });

async function trust(more: object): Promise<string> {
  const { status, body } = await call('POST', '/api/v1/trusted-issuers', admin, more);
  if (status !== 201) throw new Error(JSON.stringify(body));
  return String(body.id);
}
const issuerId = await trust({ issuer: upstream.issuer, kinds: ['enterprise'], algorithms: ['ES256'] });

const seconds = () => Math.floor(Date.now() / 1000);
const claims = (more: JWTPayload = {}): JWTPayload => ({
  ...{ iss: upstream.issuer, sub: 'cora', aud: base, client_id: agent.client_id, jti: randomUUID() },
  ...{ iat: seconds(), exp: seconds() + 300, ...more },
});
const sign = (more: JWTPayload = {}, { typ = 'oauth-id-jag+jwt', by = upstream } = {}) =>
  by.sign(claims(more), { typ });
type Client = { client_id?: unknown; client_secret?: unknown };
const exchange = (assertion: string, more: Record<string, string> = {}, by: Client = agent) =>
  form({ grant_type: GRANT, assertion, ...credentialsOf(by), ...more });
function credentialsOf({ client_id, client_secret }: Client): Record<string, string> {
  return { client_id: String(client_id), ...(client_secret ? { client_secret: String(client_secret) } : {}) };
}

t.test('openid-client gets a token for a person by the assertion of their provider', async (t) => {
  const config = await client.discovery(
    new URL(base),
    String(agent.client_id),
    undefined,
    client.ClientSecretPost(String(agent.client_secret)),
    { execute: [client.allowInsecureRequests] },
  );
  const metadata = config.serverMetadata();
  t.ok(metadata.grant_types_supported?.includes(GRANT));
  t.match(metadata.authorization_grant_profiles_supported, ['urn:ietf:params:oauth:grant-profile:id-jag']);
  const assertion = await sign({ scope: 'read:profile openid' });
  const tokens = await client.genericGrantRequest(config, GRANT, { assertion });
  t.match(tokens, { scope: /read:profile/, refresh_token: undefined, token_type: 'bearer' });
  const { sub, client_id, act, gid } = decodeJwt(tokens.access_token);
  t.match([client_id, act, gid], [agent.client_id, { sub: agent.client_id }, undefined]);
  const { status, body } = await call('GET', '/api/v1/auth/permissions', tokens.access_token);
  t.equal(status, 200, JSON.stringify(body));
  t.match((await call('GET', `/v1/users/${sub}`, tokens.access_token)).status, /200|403/);
});

t.test('an assertion gives no more than its issuer, its scope, the application and the API', async (t) => {
  const scopeOf = async (more: JWTPayload, params: Record<string, string> = {}) => {
    const { status, body } = await exchange(await sign(more), params);
    return status === 200 ? body.scope : body.error;
  };
  t.equal(await scopeOf({ scope: 'read:data write:users unknown' }), 'read:data', 'wider is narrowed');
  t.equal(await scopeOf({ scope: 'read:data' }, { scope: 'read:data read:profile' }), 'read:data');
  t.equal(await scopeOf({ scope: 'write:users' }), 'invalid_scope');
  t.equal(await scopeOf({ resource: identifier }), 'notes:read');
  t.equal(await scopeOf({ resource: identifier }, { resource: identifier }), 'notes:read');
  t.equal(await scopeOf({ resource: identifier }, { resource: 'https://other.example/' }), 'invalid_target');
  t.equal(await scopeOf({ resource: 'https://other.example/' }), 'invalid_target');
  const path = `/api/v1/trusted-issuers/${issuerId}`;
  t.equal((await call('PATCH', path, admin, { scopes: ['read:profile'] })).status, 200);
  t.equal(await scopeOf({ scope: 'read:data read:profile' }), 'read:profile');
  t.equal(await scopeOf({ resource: identifier }), 'invalid_scope');
  t.equal((await call('PATCH', path, admin, { scopes: null, applications: [other.client_id] })).status, 200);
  t.equal(await scopeOf({}), 'invalid_grant');
  t.equal((await call('PATCH', path, admin, { applications: null })).status, 200);
  t.ok(await scopeOf({}));
});

t.test('the person gets one mail about an application', async (t) => {
  const about = async () => (await mailsOf(built)).filter((it) => it.includes('can act for you')).length;
  t.equal((await exchange(await sign())).status, 200);
  await until(async () => (await about()) > 0, 3000);
  t.equal(await about(), 1);
});

t.test('assertions that are not accepted', async (t) => {
  await trust({ issuer: stranger.issuer, kinds: ['workload'], algorithms: ['ES256'] });
  const used = await sign();
  t.equal((await exchange(used)).status, 200);
  const refused: [string, string, RegExp][] = [
    ['twice', used, /already been used/],
    ['of somebody who has not signed in here', await sign({ sub: 'nobody' }), /has not signed in/],
    ['for another client', await sign({ client_id: other.client_id }), /another client/],
    ['of another type', await sign({}, { typ: 'jwt' }), /type/],
    ['for another audience', await sign({ aud: 'https://elsewhere.example' }), /audience/],
    ['for several audiences', await sign({ aud: [base, 'https://elsewhere.example'] }), /audience/],
    ['expired', await sign({ iat: seconds() - 700, exp: seconds() - 100 }), /expired/],
    ['bound to a key, without a proof', await sign({ cnf: { jkt: 'thumbprint' } }), /bound/],
    ['bound to a certificate', await sign({ cnf: { 'x5t#S256': 'print' } }), /bound/],
    ['without jti', await sign({ jti: undefined as never }), /jti/],
    ['of an issuer of workloads', await sign({ iss: stranger.issuer }, { by: stranger }), /not trusted/],
    ['signed by another issuer', await sign({}, { by: stranger }), /its issuer|signature/],
    ['of an unknown issuer', await sign({ iss: 'https://unknown.example' }), /not trusted/],
    ['no JWT', 'eyJ', /type/],
  ];
  for (const [name, assertion, reason] of refused) {
    const { status, body } = await exchange(assertion);
    t.match([status, body.error, body.error_description], [400, 'invalid_grant', reason], name);
  }
  for (const [name, by, error] of [
    ['a public client', { client_id: native.client_id }, /unauthorized_client|invalid_client/],
    ['a resource server', server, 'unauthorized_client'],
    ['one that requires a second factor', strict, 'invalid_grant'],
    ['with a wrong secret', { ...agent, client_secret: 'wrong' }, 'invalid_client'],
  ] as const) {
    const { body } = await exchange(await sign({ client_id: by.client_id as string }), {}, by);
    t.match(body.error, error, name);
  }
  t.match((await form({ grant_type: GRANT, ...credentialsOf(agent) })).body.error, 'invalid_request');
});

t.test('the token ends with its issuer, the application, and the connection of the person', async (t) => {
  const verifier = createVerifier({
    ...{ issuer: base, audience: identifier, log: () => {} },
    ...{ clientId: String(server.client_id), clientSecret: String(server.client_secret) },
  });
  t.teardown(() => verifier.close());
  const verify = (token: string) =>
    verifier.verify(new Request(identifier, { headers: { authorization: `Bearer ${token}` } }), {});
  const tokenFor = async (more: JWTPayload = {}) => {
    const { status, body } = await exchange(await sign(more));
    t.equal(status, 200, JSON.stringify(body));
    return String(body.access_token);
  };
  const path = `/api/v1/trusted-issuers/${issuerId}`;
  const cora = decodeJwt(await tokenFor()).sub;
  const status = (it: string) => call('PUT', `/v2/users/${cora}/status`, admin, { status: it });
  const ends: [string, () => Promise<unknown>][] = [
    ['switched off', () => call('PATCH', path, admin, { enabled: false })],
    [
      'with fewer scopes',
      () =>
        call('PATCH', `/api/v1/applications/${agent.client_id}`, ann, { scopes: ['openid', 'read:profile'] }),
    ],
    ['another role', () => call('PUT', `/v2/users/${cora}/role`, admin, { role: 'editor' })],
    ['deactivated', () => status('inactive').then(() => status('active'))],
    ['all access revoked', () => call('POST', `/api/v1/users/${cora}/revocations`, admin, {})],
    [
      'another password',
      async () => {
        const passwords = { current_password: PASSWORD, new_password: NEW_PASSWORD };
        await call('PUT', `/v2/users/${cora}/password`, await built.login('cora'), passwords);
      },
    ],
    ['the provider is off', () => changeProvider({ enabled: false })],
    ['the provider is removed', () => call('DELETE', '/api/v1/identity-providers/acme', admin)],
    [
      'disconnected',
      async () => {
        const browser = await signedIn(built, 'cora', NEW_PASSWORD);
        await browser.confirm(await browser.get('/account/connected-accounts'), '/disconnect');
      },
    ],
  ];
  for (const [name, end] of ends) {
    await call('PATCH', path, admin, { enabled: true });
    if ((await changeProvider({ enabled: true })).status === 404) await addProvider();
    const [ours, theirs] = [await tokenFor(), await tokenFor({ resource: identifier })];
    t.equal((await verify(theirs)).subject, decodeJwt(ours).sub, name);
    const asked = { token: theirs, ...credentialsOf(server) };
    t.match((await form(asked, {}, '/oauth2/introspect')).body, {
      active: true,
      act: { sub: agent.client_id },
    });
    const begun = performance.now();
    await end();
    await untilDead(built, ours);
    await until(
      () =>
        verify(theirs).then(
          () => false,
          ({ status }) => status === 401,
        ),
      5000,
    );
    t.ok(performance.now() - begun < 2000, name);
  }
  t.match((await exchange(await sign())).body.error_description, /has not signed in/);
});
