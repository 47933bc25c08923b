import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { ALL, build } from './build.ts';

const { issuer, call, base, machine, created } = await build(t);

async function statusWith(headers: Record<string, string>, path = '/v1/users', method = 'GET') {
  const response = await fetch(base + path, { method, headers });
  await response.body?.cancel();
  return response.status;
}

t.test('a revoked token is rejected within a second', async (t) => {
  const ann = await created();
  const cases = [
    [{ jti: 'jti_1' }, { kind: 'token', id: 'jti_1' }],
    [{ gid: 'grt_1' }, { kind: 'grant', id: 'grt_1' }],
    [
      { sub: ann.id, roles: ['admin'], trusted: undefined },
      { kind: 'subject', id: ann.id, epoch: 1 },
    ],
    [
      { sub: 'app_x', client_id: 'app_x' },
      { kind: 'client', id: 'app_x', epoch: 1 },
    ],
  ] as const;
  for (const [claims, entry] of cases) {
    const mine = {
      trusted: true,
      scope: ALL,
      ...claims,
      ...('roles' in claims ? { roles: [...claims.roles] } : {}),
    };
    const token = await issuer.sign(mine);
    const next = await issuer.sign({
      ...mine,
      jti: randomUUID(),
      gid: 'grt_2',
      epoch: { client: 1, subject: 1 },
    });
    const status = async () => (await call('GET', '/v1/users', token)).status;
    t.equal(await status(), 200, entry.kind);
    const begin = performance.now();
    issuer.revoke(entry);
    await until(async () => (await status()) === 401, 2000);
    t.ok(performance.now() - begin < 1000, `${entry.kind}: ${Math.round(performance.now() - begin)} ms`);
    t.equal((await call('GET', '/v1/users', next)).status, 200, 'the next one lives');
  }
});

t.test('tokens end with a deactivation, a new role and a new password', async (t) => {
  for (const [below, body] of [
    ['/status', { status: 'inactive' }],
    ['/role', { role: 'editor' }],
    ['/password', { new_password: 'another horse' }],
  ] as const) {
    const ann = await created();
    const token = await issuer.person(ann.id, 'admin', ALL);
    t.equal((await call('GET', '/v1/users', token)).status, 200);
    t.equal((await call('PUT', ann.path + below, machine, body)).status, 204);
    t.equal((await call('GET', '/v1/users', token)).status, 401, below);
    const next = await issuer.sign({
      sub: ann.id,
      client_id: 'app_web',
      roles: ['admin'],
      scope: ALL,
      epoch: { client: 0, subject: 1 },
    });
    t.equal((await call('GET', '/v1/users', next)).status, 200, 'the next token lives');
  }
});

t.test('API keys by both headers', async (t) => {
  const trusted = issuer.apiKey({ scopes: ['read:users'] });
  t.equal(await statusWith({ authorization: `ApiKey ${trusted.key}` }), 200);
  t.equal(await statusWith({ authorization: `Bearer ${trusted.key}` }), 200);
  t.equal(await statusWith({ authorization: `ApiKey ${trusted.key}x` }), 401);
  t.equal(await statusWith({ authorization: `ApiKey ${trusted.key}` }, '/v1/users/usr_x', 'DELETE'), 403);

  const ann = await created();
  const bob = await created();
  const owned = issuer.apiKey({ scopes: ['read:users'], trusted: false, owner: ann.id, role: 'user' });
  const authorization = `ApiKey ${owned.key}`;
  t.equal(await statusWith({ authorization }, ann.path), 200);
  t.equal(await statusWith({ authorization }, bob.path), 403);

  issuer.revoke({ kind: 'api_key', id: trusted.id });
  await until(async () => (await statusWith({ authorization: `Bearer ${trusted.key}` })) === 401, 1000);
});

t.test('only what the owner of an application made acts as the owner on their account', async (t) => {
  const key = (owner: string, more: object) =>
    issuer.apiKey({ scopes: ALL.split(' '), trusted: false, owner, role: 'user', ...more }).key;
  const token = (owner: string, more: object) =>
    issuer.sign({ sub: 'app_own', client_id: 'app_own', owner, roles: ['user'], scope: ALL, ...more });
  const by = { given_by: 'usr_member' };
  for (const [name, credential, more] of [
    ['own key', key, {}],
    ['own token', token, {}],
    ['key of a member', key, by],
    ['token of a member', token, by],
    ['key of an editor', key, { ...by, role: 'editor' }],
    ['token of an editor', token, { ...by, roles: ['editor'] }],
  ] as const) {
    const { id } = await created();
    const authorization = await credential(id, more);
    for (const [method, path, body, status] of [
      ['PUT', `/v2/users/${id}`, { username: `renamed-${randomUUID()}` }, 200],
      ['PUT', `/v1/users/${id}`, { username: `renamed-${randomUUID()}` }, 200],
      ['PUT', `/v1/users/${id}/password`, { new_password: 'another horse' }, 400],
      ['GET', `/v2/users/${id}`, undefined, 200],
      ['DELETE', `/v1/users/${id}`, undefined, 204],
    ] as const) {
      const isStaff = name.endsWith('editor') && method === 'GET';
      const expected = 'given_by' in more && !isStaff ? 403 : status;
      t.equal((await call(method, path, authorization, body)).status, expected, `${name}: ${method} ${path}`);
    }
  }
});

t.test('a DPoP-bound token needs a proof (RFC 9449)', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { crv, kty, x, y } = publicKey.export({ format: 'jwk' });
  const hash = (text: string) => createHash('sha256').update(text).digest('base64url');
  const jkt = hash(JSON.stringify({ crv, kty, x, y }));
  const token = await issuer.sign({ trusted: true, scope: ALL, cnf: { jkt } });
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const proof = (method: string, path: string) => {
    const header = encode({ typ: 'dpop+jwt', alg: 'ES256', jwk: { crv, kty, x, y } });
    const claims = {
      jti: randomUUID(),
      htm: method,
      htu: issuer.issuer + path,
      iat: Math.floor(Date.now() / 1000),
      ath: hash(token),
    };
    const signed = `${header}.${encode(claims)}`;
    const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${signed}.${signature.toString('base64url')}`;
  };
  const authorization = `DPoP ${token}`;
  const dpop = proof('GET', '/v1/users');
  t.equal(await statusWith({ authorization, dpop }), 200);
  t.equal(await statusWith({ authorization, dpop }), 401, 'a proof holds once');
  t.equal(await statusWith({ authorization, dpop: proof('POST', '/v1/users') }), 401);
  t.equal(await statusWith({ authorization }), 401, 'without proof');
  t.equal(await statusWith({ authorization: `Bearer ${token}` }), 401);
});

t.test('the first users exist, with verified addresses', async (t) => {
  const firstUsers = [
    {
      username: 'first',
      email: 'first@example.org',
      password: 'correct horse',
      name: 'First One',
      role: 'admin',
    },
    { username: 'FIRST', email: 'second@example.org', password: 'correct horse' },
  ] as const;
  const { call, issuer, internal } = await build(t, { firstUsers });
  const reply = await call('POST', '/internal/users/password-checks', await internal(), {
    login: 'first@example.org',
    password: 'correct horse',
  });
  t.match(reply.body.account, { username: 'first', name: 'First One', role: 'admin', email_verified: true });
  const list = await call('GET', '/v1/users', await issuer.machine(ALL));
  t.equal(list.body.pagination.total, 1);
});
