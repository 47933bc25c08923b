import { createHash } from 'node:crypto';
import { until } from '@gatehouse/testing/processes';
import { decodeJwt } from 'jose';
import * as client from 'openid-client';
import t from 'tap';
import { CLI_CLIENT } from '../../../src/core/oidc/clients/client-metadata.ts';
import { build, PASSWORD } from '../../build.ts';
import { type Connected, commandLine, connectCommandLine } from '../../command-line.ts';
import { alertOf, heading, mailsOf, signedIn } from '../../pages.ts';

// Each device waits before it asks again.
t.setTimeout(120_000);

const built = await build(t, { checkResponses: true });
const { base } = built;
const admin = await built.login('admin');
const scope = 'openid read:users write:users read:data write:data read:all manage:apps';
const config = await commandLine(built);

const connect = (visitor: ReturnType<typeof built.browser>, more: Record<string, string> = {}) =>
  connectCommandLine(built, visitor, more);

t.test('people connect the command line, which acts for them', async (t) => {
  const { verify, tokens, DPoP, call } = await connect(built.browser(), { username: 'ann' });
  t.match(verify.html, /Gatehouse command line/);
  t.match(verify.html, /It can see and change everything here that you can/);
  const claims = decodeJwt(tokens.access_token);
  t.match(claims, { client_id: CLI_CLIENT, sub: built.people.ann.id, roles: ['user'] });
  t.match(claims.scope, /manage:apps/);
  t.notMatch(claims.scope, /read:all/, 'what a user’s role does not allow');
  // The mail about a sign-in of a new program.
  const hasMail = async () => (await mailsOf(built)).some((it) => /openid-client/.test(it));
  await until(hasMail, 10_000);
  t.match(claims.cnf, { jkt: /./ });
  const draft = { name: 'Made', type: 'machine', scopes: ['read:data'] };
  t.equal(await call('POST', '/api/v1/applications', draft), 201);
  const asBearer = await built.call('GET', '/api/v1/applications', tokens.access_token);
  t.equal(asBearer.status, 401, 'the token is of no use without the key');
  const other = client.getDPoPHandle(config, await client.randomDPoPKeyPair());
  await t.rejects(
    client.refreshTokenGrant(config, tokens.refresh_token ?? '', undefined, { DPoP: other }),
    'nor is the refresh token',
  );
  const renewed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '', undefined, { DPoP });
  t.equal(decodeJwt(renewed.access_token).gid, claims.gid);
  t.not(renewed.refresh_token, tokens.refresh_token);
});

t.test('a person sees it among their applications, and ends it', async (t) => {
  await built.createPerson('cleo');
  const visitor = await signedIn(built, 'cleo');
  const { tokens, call } = await connect(visitor);
  t.equal(await call(), 200);
  const page = await visitor.get('/account/applications');
  t.match(page.html, /Gatehouse command line/);
  t.match(page.html, /Manage your applications, their keys and your webhooks/);
  const cleo = await built.login('cleo');
  const { body } = await built.call('GET', '/api/v1/consents', cleo);
  t.match(body.data, [{ client_id: CLI_CLIENT, name: 'Gatehouse command line' }]);
  t.equal((await built.call('DELETE', `/api/v1/consents/${CLI_CLIENT}`, cleo)).status, 204);
  t.equal(await call(), 401);
  const sub = decodeJwt(tokens.access_token).sub;
  for (const action of ['device.connected', 'grant.revoked']) {
    const found = await built.call(
      'GET',
      `/api/v1/audit?filter[action]=${action}&filter[subject]=${sub}`,
      admin,
    );
    t.match(found.body.data, [{ client: CLI_CLIENT, subject: sub }], action);
  }
});

t.test('every event that ends its tokens', async (t) => {
  const ways: Record<string, (it: Connected, id: string, token: string) => Promise<unknown>> = {
    'its own logout': ({ tokens }) => client.tokenRevocation(config, tokens.refresh_token ?? ''),
    'a new password': (_it, id) =>
      built.call('PUT', `/v2/users/${id}/password`, admin, { new_password: `${PASSWORD} two` }),
    'a deactivation': (_it, id) => built.call('PUT', `/v2/users/${id}/status`, admin, { status: 'inactive' }),
    'the end of all sign-ins': (_it, _id, token) => built.call('DELETE', '/api/v1/sessions', token),
    'the end of the session in which it was allowed': async (_it, _id, token) => {
      const { data } = (await built.call('GET', '/api/v1/sessions', token)).body;
      const browser = (data as { id: string; type: string }[]).find(({ type }) => type === 'browser');
      await built.call('DELETE', `/api/v1/sessions/${browser?.id}`, token);
    },
  };
  for (const [index, [way, end]] of Object.entries(ways).entries()) {
    const username = `ended${index}`;
    await built.createPerson(username);
    const connected = await connect(built.browser(), { username });
    const { call, tokens, DPoP } = connected;
    t.equal(await call(), 200);
    await end(connected, String(decodeJwt(tokens.access_token).sub), await built.login(username));
    t.equal(await call(), 401, way);
    await t.rejects(client.refreshTokenGrant(config, tokens.refresh_token ?? '', undefined, { DPoP }), way);
  }
});

t.test('a sign-out in the browser does not end it', async (t) => {
  await built.createPerson('hugo');
  const visitor = await signedIn(built, 'hugo');
  const { call, tokens, DPoP } = await connect(visitor);
  await visitor.submit(await visitor.get('/account'), {}, '/account/sign-out');
  t.equal(await call(), 200);
  await client.refreshTokenGrant(config, tokens.refresh_token ?? '', undefined, { DPoP });
});

t.test('a link is not enough: the person types the code', async (t) => {
  const visitor = await signedIn(built, 'ann');
  const codes = await client.initiateDeviceAuthorization(config, { scope });
  const linked = await visitor.get(codes.verification_uri_complete ?? '');
  const question = await visitor.submit(linked, {});
  t.equal(heading(question), 'Is this your device?');
  t.match(question.html, /the same network address as this browser/);
  t.notMatch(question.html.replaceAll(/<input type="hidden"[^>]*>/g, ''), codes.user_code);
  t.match(alertOf(await visitor.submit(question, {})), /Enter the code/);
  const other = await client.initiateDeviceAuthorization(config, { scope });
  const again = await visitor.submit(await visitor.get(other.verification_uri_complete ?? ''), {});
  const connected = await visitor.submit(again, { typed_code: other.user_code });
  t.equal(heading(connected), 'Your device is connected');
});

t.test('its token counts as a fresh sign-in only if it asked for one', async (t) => {
  const { tokens } = await connect(built.browser());
  t.notOk('auth_time' in decodeJwt(tokens.access_token));
});

t.test('a sign-in that the browser has made for something else is no fresh one', async (t) => {
  for (const max_age of ['300', '999999999']) {
    const { tokens, isAsked } = await connect(await signedIn(built, 'ann'), { max_age });
    t.ok(isAsked || !('auth_time' in decodeJwt(tokens.access_token)), max_age);
  }
});

t.test('a fresh sign-in is asked for on the page, and leaves no second grant', async (t) => {
  await built.createPerson('finn');
  const visitor = await signedIn(built, 'finn');
  const grants = (await built.database()).collection('oidc_grants');
  const before = await grants.countDocuments();
  const asked = Math.floor(Date.now() / 1000);
  const { tokens, isAsked } = await connect(visitor, { username: 'finn', max_age: '0' });
  t.ok(isAsked);
  const { auth_time: time } = decodeJwt(tokens.access_token) as { auth_time: number };
  t.ok(time >= asked);
  t.equal(await grants.countDocuments(), before + 1);
});

t.test('it gets tokens for APIs of the person, and of nobody else', async (t) => {
  const resource = 'https://notes.example/api';
  const draft = {
    ...{ identifier: resource, name: 'Notes' },
    scopes: [{ name: 'read:notes', description: 'Read your notes' }],
  };
  t.equal((await built.call('POST', '/api/v1/resources', admin, draft)).status, 201);
  const { tokens, DPoP } = await connect(built.browser(), { username: 'admin', resource, scope: '' });
  const claims = decodeJwt(tokens.access_token);
  t.match(claims, { aud: resource, scope: 'read:notes', sub: built.people.admin.id, cnf: { jkt: /./ } });
  t.notOk('roles' in claims);
  const again = await client.refreshTokenGrant(config, tokens.refresh_token ?? '', undefined, { DPoP });
  t.match(decodeJwt(again.access_token), { aud: resource });
  await t.rejects(
    client.refreshTokenGrant(config, again.refresh_token ?? '', { resource: `${base}/api` }, { DPoP }),
    'it is not for the API of Gatehouse',
  );
  await t.rejects(connect(built.browser(), { username: 'ann', resource, scope: '' }), /not connected/);
  const unknown = { resource: 'https://nobody.example/' };
  await t.rejects(client.initiateDeviceAuthorization(config, unknown), /./);
});

t.test('it gets tokens by the device flow only', async (t) => {
  const redirect_uri = `${base}/x`;
  const code_challenge = createHash('sha256').update('x').digest('base64url');
  const query = new URLSearchParams({
    client_id: CLI_CLIENT,
    response_type: 'code',
    redirect_uri,
    code_challenge,
  });
  t.equal((await fetch(`${base}/oauth2/authorize?${query}`, { redirect: 'manual' })).status, 400);
  const { status } = await built.form({ client_id: CLI_CLIENT, grant_type: 'client_credentials' });
  t.equal(status, 400);
  const response = await client.initiateDeviceAuthorization(config, { scope });
  const unbound = client.pollDeviceAuthorizationGrant(config, { ...response, interval: 1 });
  const refused = t.rejects(unbound, /./, 'without a proof of a key');
  const visitor = await signedIn(built, 'ann');
  await visitor.submit(
    await visitor.submit(await visitor.get('/device'), { user_code: response.user_code }),
    {},
  );
  await refused;
});
