import { randomBytes } from 'node:crypto';
import { decodeJwt } from 'jose';
import t from 'tap';
import { build } from '../../build.ts';
import { signerOf } from '../../tokens.ts';

const masterKey = randomBytes(32);
const built = await build(t, { masterKey, config: { freshSignIn: 'on' } });
const { people } = built;

t.test('what is dangerous takes a sign-in of the last five minutes (RFC 9470 §3)', async (t) => {
  const fresh = await built.login('admin');
  const { client_id } = await built.createApplication(fresh, {
    ...{ name: 'Mine', type: 'machine', scopes: ['read:data'] },
  });
  const sign = await signerOf(await built.database(), { masterKey, issuer: built.base });
  const { gid, epoch, scope, auth_time, acr } = decodeJwt(fresh);
  const { token: stale } = await sign({
    ...{ subject: people.admin.id, clientId: 'gatehouse-login', audience: `${built.base}/api` },
    ...{ scope: String(scope), lifetime: 600 },
    claims: { gid, epoch, acr, roles: ['admin'], auth_time: Number(auth_time) - 301 },
  });
  const { body } = await built.call('GET', '/api/v1/signing-keys', stale);
  const current = (body.data as { kid: string; state: string }[]).filter((it) => it.state === 'current');
  const requests: [method: string, path: string, body?: object][] = [
    ['POST', '/api/v1/signing-keys/rotate', { kids: current.map(({ kid }) => kid), force: true }],
    ['POST', `/api/v1/applications/${client_id}/transfer`, { to: 'ann' }],
    ['POST', '/api/v1/identity-providers', { preset: 'github', client_id: 'us', client_secret: 'secret' }],
    ['PATCH', '/api/v1/identity-providers/github', { label: 'Octo' }],
    ['DELETE', '/api/v1/identity-providers/github'],
    ['DELETE', '/api/v1/sessions'],
  ];
  for (const [method, path, sent] of requests) {
    const { status, headers } = await built.call(method, path, stale, sent);
    t.equal(status, 401, path);
    t.match(
      headers.get('www-authenticate'),
      /^Bearer .*error="insufficient_user_authentication".*max_age="300", resource_metadata=/,
    );
  }
  for (const [method, path, sent] of requests) {
    t.ok((await built.call(method, path, fresh, sent)).status < 300, path);
  }
});
