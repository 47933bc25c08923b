import { createApiKeyResolver } from '@gatehouse/tokens/api-keys';
import { createIdentityClient } from '@gatehouse/tokens/identity-client';
import { clientCredentialsGrant, createInternalClient } from '@gatehouse/tokens/internal-client';
import { apiAudience } from '@gatehouse/tokens/scopes';
import { createTokenVerifier } from '@gatehouse/tokens/verifier';
import { createRevocationSet } from '@gatehouse/verify/revocations';
import t from 'tap';
import { authorizeUrl, build, MACHINE, NATIVE, signInAndAllow, WEB } from '../../build.ts';
import { refresh, tokensFor } from '../../tokens.ts';

const PINS = { v1_users: 'E', v2_users: 'B1' };

const built = await build(t);
const { base, form, json, call, createApplication, login } = built;
const admin = await login('admin');
const ann = await login('ann');

const set = createRevocationSet();
const tokens = createTokenVerifier({
  issuer: base,
  audience: apiAudience(base),
  jwksUri: `${base}/.well-known/jwks.json`,
  revocations: set,
});
const internal = createInternalClient({
  service: 'identity',
  url: base,
  requestToken: clientCredentialsGrant({
    tokenUrl: `${base}/oauth2/token`,
    issuer: base,
    clientId: 'users',
    clientSecret: built.serviceSecret,
  }),
});
const identity = createIdentityClient(internal);

/** What services see of the application's pins. */
const pinsOf = async (token: unknown) => (await tokens.verify(String(token))).profiles;
const pin = async (id: string, profiles: object) => {
  const { status } = await call('PATCH', `/api/v1/applications/${id}`, admin, { profiles });
  if (status !== 200) throw new Error(`not pinned: ${status}`);
};

t.before(async () => {
  for (const { client_id } of [MACHINE, WEB, NATIVE]) await pin(client_id, PINS);
});

t.test('a trusted machine, by form and by JSON', async (t) => {
  const grant = { grant_type: 'client_credentials', ...MACHINE };
  for (const send of [form, json]) t.same(await pinsOf((await send(grant)).body.access_token), PINS);
});

t.test('a machine that stands under its owner, and its API keys', async (t) => {
  const draft = { name: 'Ours', type: 'machine', scopes: ['read:users'], profiles: PINS };
  const client = await createApplication(ann, draft);
  t.same(await pinsOf(await built.machineToken(client)), PINS);

  const keys = `/api/v1/applications/${client.client_id}/api-keys`;
  const key = await call('POST', keys, ann, { name: 'CI', scopes: ['read:users'] });
  t.equal(key.status, 201);
  const resolver = createApiKeyResolver({ resolve: identity.resolveApiKey, set });
  t.same((await resolver.verify(String(key.body.api_key))).profiles, PINS);
});

t.test('people by code, with a secret and without, and after a refresh', async (t) => {
  for (const client of [WEB, NATIVE]) {
    const { access_token, refresh_token } = await tokensFor(built, { client });
    t.same(await pinsOf(access_token), PINS, client.client_id);
    const { status, body } = await refresh(built, refresh_token, client);
    t.equal(status, 200);
    t.same(await pinsOf(body.access_token), PINS, `${client.client_id}, refreshed`);
  }
});

t.test('people by the implicit flow', async (t) => {
  const redirect_uri = 'https://old.example.org/cb';
  const { client_id } = await createApplication(admin, {
    name: 'Old',
    type: 'spa',
    redirect_uris: [redirect_uri],
    scopes: ['openid', 'read:users'],
    legacy_implicit: true,
    profiles: PINS,
  });
  const request = { client_id, redirect_uri, response_type: 'id_token token', scope: 'openid read:users' };
  const page = await signInAndAllow(built.browser(), authorizeUrl({ ...request, nonce: 'n-1' }));
  const response = new URLSearchParams(page.url.hash.slice(1));
  t.same(await pinsOf(response.get('access_token')), PINS);
});

t.test('a change of the pins is in the next token, and a refresh is enough', async (t) => {
  const { access_token, refresh_token } = await tokensFor(built, { client: WEB });
  t.same(await pinsOf(access_token), PINS);
  await pin(WEB.client_id, { v1_users: 'G' });
  t.same(await pinsOf((await refresh(built, refresh_token)).body.access_token), { v1_users: 'G' });
  t.same(await pinsOf(access_token), PINS, 'a token is as it was issued');
  await pin(WEB.client_id, {});
  t.same(await pinsOf((await refresh(built, refresh_token)).body.access_token), {});
});

t.test('the token of a login belongs to no application, and has no pins', async (t) => {
  t.same(await pinsOf(ann), {});
  const renewed = await call('POST', '/api/v1/auth/refresh', await login('ann'));
  t.equal(renewed.status, 200);
  t.same(await pinsOf(renewed.body.token), {});
});
