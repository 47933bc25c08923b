import { type CryptoKey, decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose';
import t from 'tap';
import { build } from '../../build.ts';

const built = await build(t);
const { base, call, form } = built;
const root = await built.login('admin');
const notifications = await built.serviceToken('notifications');
const { privateKey, publicKey } = await generateKeyPair('ES256');

type Credential = { ids: string[]; given_by: string; epoch: number; role: string; scopes: string[] };
let count = 0;

async function ok(method: string, path: string, token: string, body?: object) {
  const response = await call(method, path, token, body);
  if (response.status < 300) return response.body;
  throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(response.body)}`);
}

/** An application of an admin, in which a member and another admin have made credentials. */
async function scene() {
  count += 1;
  const person = async (name: string, role: string) => {
    const id = await built.createPerson(`${name}${count}`);
    await ok('PUT', `/v2/users/${id}/role`, root, { role });
    return { id, name: `${name}${count}`, token: await built.login(`${name}${count}`) };
  };
  const [owner, member, admin] = [
    await person('owner', 'admin'),
    await person('member', 'editor'),
    await person('other', 'admin'),
  ];
  const draft = { name: 'App', type: 'machine', scopes: ['read:data', 'read:users', 'read:all'] };
  const { client_id: id, client_secret: first } = await built.createApplication(owner.token, draft);
  const path = `/api/v1/applications/${id}`;
  await ok('POST', `${path}/members`, owner.token, { user: member.name, role: 'developer' });
  await ok('POST', `/api/v1/memberships/${id}/accept`, member.token);
  const key = async (by: string) =>
    String((await ok('POST', `${path}/api-keys`, by, { name: 'k', scopes: ['read:data'] })).id);
  const keys = {
    owner: await key(owner.token),
    member: await key(member.token),
    admin: await key(admin.token),
  };
  const secret = await ok('POST', `${path}/secrets`, member.token, {});
  const credentials = async (): Promise<Credential[]> => {
    const asked = { ids: [id] };
    const { body } = await call('POST', '/internal/identity/owned-applications', notifications, asked);
    return Object(body).owners[0].credentials;
  };
  const of = async (id: unknown) => (await credentials()).find((it) => it.ids.includes(String(id)));
  return { id: String(id), first, path, owner, member, admin, keys, secret, credentials, of };
}
type Scene = Awaited<ReturnType<typeof scene>>;

t.test('each credential has its giver, and the lower role of the giver and of the owner', async (t) => {
  const { owner, member, admin, keys, secret, of, credentials, path } = await scene();
  const scopes = ['read:data', 'read:users', 'read:all'];
  t.match(await of(keys.owner), { given_by: owner.id, role: 'admin', scopes });
  t.match(await of(keys.admin), { given_by: admin.id, role: 'admin', scopes });
  t.match(await of(keys.member), { given_by: member.id, role: 'editor', scopes });
  t.match(await of(secret.id), { given_by: member.id, role: 'editor', scopes });
  t.equal((await credentials()).length, 5);
  await ok('PUT', `/v2/users/${member.id}/role`, root, { role: 'user' });
  const lower = { role: 'user', scopes: ['read:data', 'read:users'] };
  t.match(await of(secret.id), lower);
  const rotated = await ok('POST', `${path}/api-keys/${keys.member}/rotate`, owner.token, {
    overlap_seconds: 0,
  });
  t.match(await of(keys.member), { ids: [rotated.id, keys.member], given_by: owner.id });
  const successor = await ok('POST', `${path}/api-keys/${rotated.id}/rotate`, owner.token, {
    overlap_seconds: 3600,
  });
  t.match(await of(successor.id), { ids: [successor.id, rotated.id, keys.member] });
  await ok('DELETE', `${path}/api-keys/${rotated.id}`, owner.token);
  t.equal(await of(String(rotated.id)), undefined, 'its successor does not stand for a key that is revoked');
  t.match(await of(successor.id), { ids: [successor.id, keys.member] });
  await ok('PATCH', path, root, { trusted: true });
  t.match(await of(secret.id), lower, 'trust is not for what a member made');
  t.match(await of(keys.owner), { role: 'machine' });
});

const events: Record<string, (scene: Scene) => Promise<unknown>> = {
  'becomes a viewer': ({ path, owner, member }) =>
    ok('POST', `${path}/members`, owner.token, { user: member.name, role: 'viewer' }),
  'is removed': ({ path, owner, member }) => ok('DELETE', `${path}/members/${member.id}`, owner.token),
  leaves: ({ id, member }) => ok('DELETE', `/api/v1/memberships/${id}`, member.token),
  'is deactivated': ({ member }) => ok('PUT', `/v2/users/${member.id}/status`, root, { status: 'inactive' }),
  'is deleted': ({ member }) => ok('DELETE', `/v2/users/${member.id}`, root),
  'loses all access': ({ member }) => ok('POST', `/api/v1/users/${member.id}/revocations`, root, {}),
};
for (const [name, happen] of Object.entries(events)) {
  t.test(`a member who ${name} has no credentials`, async (t) => {
    const made = await scene();
    await happen(made);
    t.equal(await made.of(made.keys.member), undefined);
    t.equal(await made.of(made.secret.id), undefined);
    t.equal((await made.credentials()).length, 3);
  });
}

t.test('an admin who is none any more has no credentials in the applications of others', async (t) => {
  const { admin, keys, of } = await scene();
  await ok('PUT', `/v2/users/${admin.id}/role`, root, { role: 'user' });
  t.equal(await of(keys.admin), undefined);
});

t.test('a machine’s token names the credential by which it was issued', async (t) => {
  const { id, first, path, owner, secret, of } = await scene();
  const claimed = async (fields: Record<string, string>) => {
    const { body } = await form({ grant_type: 'client_credentials', client_id: id, ...fields });
    return decodeJwt(String(body.access_token)).credential_id;
  };
  const client_secret = String(secret.client_secret);
  t.equal(await claimed({ client_secret }), secret.id);
  // A repeated parameter is left to oidc-provider.
  t.equal(await claimed({ client_secret, resource: `${base}/api` }), secret.id);
  t.match(await of(await claimed({ client_secret: String(first) })), { given_by: owner.id });
  const jwk = { ...(await exportJWK(publicKey)), alg: 'ES256', kid: 'k' };
  const other = await generateKeyPair('ES256');
  const otherJwk = { ...(await exportJWK(other.publicKey)), alg: 'ES256', kid: 'other' };
  const sign = (key: CryptoKey, header: { kid?: string }) =>
    new SignJWT({ jti: crypto.randomUUID() })
      .setProtectedHeader({ alg: 'ES256', ...header })
      .setIssuer(id)
      .setSubject(id)
      .setAudience(base)
      .setExpirationTime('1m')
      .sign(key);
  const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
  const byAssertion = async (key: CryptoKey, header = {}) =>
    claimed({ client_assertion: await sign(key, header), client_assertion_type: type });
  await ok('PATCH', path, root, { jwks: { keys: [jwk] } });
  const byKey = await byAssertion(privateKey);
  t.match(await of(byKey), { role: 'admin' });
  t.equal(await of(secret.id), undefined, 'with public keys, secrets are not accepted');
  await ok('PATCH', path, root, { jwks: { keys: [jwk, otherJwk] } });
  t.equal(await byAssertion(privateKey, { kid: 'k' }), byKey, 'another key beside it changes nothing');
  const byOther = await byAssertion(other.privateKey, { kid: 'other' });
  const byEither = await byAssertion(privateKey);
  t.equal(new Set([byKey, byOther, byEither]).size, 3);
  for (const credential of [byKey, byOther, byEither]) t.ok(await of(credential));
  await ok('PATCH', path, root, { jwks: { keys: [otherJwk] } });
  t.equal(await of(byKey), undefined, 'a key that was removed');
  t.equal(await of(byEither), undefined, 'one of several, of which some were removed');
  t.ok(await of(byOther));
});
