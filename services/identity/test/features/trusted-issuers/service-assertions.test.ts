import { randomBytes } from 'node:crypto';
import { createServiceAccountIssuer } from '@gatehouse/testing/service-account-issuer';
import { JWT_BEARER } from '@gatehouse/tokens/client-assertion';
import { internalAudience } from '@gatehouse/tokens/scopes';
import t from 'tap';
import { build } from '../../build.ts';
import { startIssuer } from './workload-issuer.ts';

const built = await build(t);
const cluster = await createServiceAccountIssuer();
const stranger = await createServiceAccountIssuer();
const networks = { trustedIssuerNetworks: ['127.0.0.0/8'] };
const secret = randomBytes(32).toString('base64url');
/** Users, items and the dashboard have tokens, and commerce a secret. */
const services = [
  ...(['users', 'items', 'dashboard'] as const).map((id) => ({ id, secret, subject: cluster.subjectOf(id) })),
  { id: 'commerce' as const, secret: built.serviceSecret },
];
const pasted = { services, clientAssertionIssuer: cluster.issuer, clientAssertionJwks: cluster.jwks };
const replica = await built.replica(pasted);

async function request(sent: Record<string, string>, { at = replica, path = '/oauth2/token' } = {}) {
  const response = await fetch(at + path, { method: 'POST', body: new URLSearchParams(sent) });
  const text = await response.text();
  return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> };
}
const asserted = (client_id: string, token: string) => ({
  ...{ client_id, client_assertion: token, client_assertion_type: JWT_BEARER },
});
const grant = {
  ...{ grant_type: 'client_credentials', scope: 'internal' },
  resource: internalAudience(built.base, 'identity'),
};

t.test('a service gets access tokens with the token of its service account', async (t) => {
  const token = await cluster.sign('users', built.base);
  for (const time of ['first', 'second']) {
    const { status, body } = await request({ ...grant, ...asserted('users', token) });
    t.equal(status, 200, time);
    const route = `${replica}/internal/identity/revocations?since=0`;
    const { status: called } = await fetch(route, {
      headers: { authorization: `Bearer ${body.access_token}` },
    });
    t.equal(called, 200, 'which its internal routes take');
  }
  const bare = await request({ ...asserted('users', token), grant_type: 'client_credentials' });
  t.match(bare, { status: 400, body: { error: 'invalid_target' } }, 'for what the table says alone');
  const commerce = { client_id: 'commerce', client_secret: built.serviceSecret };
  t.match(await request({ ...grant, ...commerce }), { status: 200 }, 'another service keeps its secret');
});

t.test('the dashboard authenticates with a token at each endpoint', async (t) => {
  const client = asserted('dashboard', await cluster.sign('dashboard', built.base));
  t.match(await request({ ...client, token: 'x' }, { path: '/oauth2/revoke' }), { status: 200 });
  const refresh = { ...client, grant_type: 'refresh_token', refresh_token: 'x' };
  t.match(await request(refresh), { status: 400, body: { error: 'invalid_grant' } }, 'it is known');
});

t.test('other tokens are refused', async (t) => {
  const now = Math.floor(Date.now() / 1000);
  const subject = cluster.subjectOf('users');
  const sign = (claims: Parameters<typeof cluster.sign>[2] = {}) => cluster.sign('users', built.base, claims);
  for (const [name, token, reason] of [
    ['the subject of another service', cluster.sign('items', built.base), /another subject/],
    ['a subject that begins with it', sign({ sub: `${subject}2` }), /another subject/],
    ['a subject in a list', sign({ sub: [subject] }), /another subject/],
    ['no subject', sign({ sub: undefined }), /another subject/],
    ['the audience of the cluster', sign({ aud: [cluster.issuer] }), /not for this issuer/],
    ['two audiences', sign({ aud: [built.base, cluster.issuer] }), /not for this issuer/],
    ['no audience', sign({ aud: undefined }), /not for this issuer/],
    ['the token endpoint', sign({ aud: `${built.base}/oauth2/token` }), /not for this issuer/],
    ['an expired one', sign({ age: 3720 }), /has expired/],
    ['one of more than an hour', sign({ exp: now + 3700 }), /lives longer than 3600 seconds/],
    ['one of the future', sign({ nbf: now + 300 }), /wrong time in nbf/],
    ['no end', sign({ exp: undefined }), /has no exp/],
    ['another name of the issuer', sign({ iss: 'https://example.org' }), /is of another issuer/],
    ['other keys', stranger.sign('users', built.base), /names no key/],
    ['no signature', sign().then((it) => it.replace(/[^.]+$/, '')), /signature|valid JWT/],
  ] as const) {
    const { status, body } = await request({ ...grant, ...asserted('users', await token) });
    t.match({ status, body }, { status: 401, body: { error: 'invalid_client' } }, name);
    t.match(body.error_description, reason, name);
  }
  const valid = await sign();
  const more = { ...grant, ...asserted('users', valid) };
  t.match(await request({ ...more, client_secret: secret }), { status: 400 }, 'two methods');
  for (const client of ['commerce', 'identity', 'nobody'])
    t.match(await request({ ...grant, ...asserted(client, valid) }), { status: 401 }, client);
  t.match(
    await request({ ...grant, ...asserted('users', valid) }, { at: built.base }),
    { status: 401 },
    'where users has a secret',
  );
});

t.test('keys are fetched where none are pasted, and again for a new one', async (t) => {
  const own = await startIssuer(t);
  const at = await built.replica({ ...networks, services, clientAssertionIssuer: own.issuer });
  const get = async () =>
    (
      await request(
        {
          ...grant,
          ...asserted('users', await own.sign({ sub: cluster.subjectOf('users'), aud: [built.base] })),
        },
        { at },
      )
    ).status;
  t.equal(await get(), 200);
  await own.rotate();
  t.equal(await get(), 200);
  t.same(own.state.requests, ['/.well-known/openid-configuration', '/keys', '/keys']);
});
