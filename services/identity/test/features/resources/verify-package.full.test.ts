import { until } from '@gatehouse/testing/processes';
import { createVerifier } from '@gatehouse/verify/verifier';
import t from 'tap';
import { build, PASSWORD } from '../../build.ts';
import { tokensFor } from '../../tokens.ts';

const built = await build(t);
const { call, form, base } = built;
const ann = await built.login('ann');

const identifier = 'https://notes.example.com/api';
const scopes = [{ name: 'notes:read', description: 'Read your notes' }];
const api = await call('POST', '/api/v1/resources', ann, { identifier, name: 'Notes', scopes });
const server = await built.createApplication(ann, { name: 'Notes server', type: 'resource', scopes: [] });
const machine = await built.createApplication(ann, { name: 'Robot', type: 'machine', scopes: ['read:data'] });
const redirect_uri = 'https://ann.example.org/callback';
const web = {
  ...(await built.createApplication(ann, {
    ...{ name: 'Web', type: 'web', scopes: ['openid'], redirect_uris: [redirect_uri] },
  })),
  redirect_uri,
};

const states: string[] = [];
const options = {
  issuer: base,
  audience: identifier,
  log: (_line: string, state: string) => states.push(state),
};
const verifier = createVerifier({
  ...options,
  clientId: String(server.client_id),
  clientSecret: String(server.client_secret),
});
t.teardown(() => verifier.close());
const verify = (credential: string, by = verifier) =>
  by.verify(new Request(identifier, { headers: { authorization: `Bearer ${credential}` } }), {
    scopes: ['notes:read'],
  });
const machineToken = async () => {
  const grant = { grant_type: 'client_credentials', ...machine, resource: identifier, scope: 'notes:read' };
  const { body } = await form(grant as Record<string, string>);
  return String(body.access_token);
};

/** The time until a credential is refused, in milliseconds. */
async function refusedAfter(credential: string): Promise<number> {
  const begun = performance.now();
  const isRefused = () =>
    verify(credential).then(
      () => false,
      ({ status, error }) => status === 401 && error === 'invalid_token',
    );
  await until(isRefused, 5000);
  return performance.now() - begun;
}

t.test('a revoked token is refused within a second', async (t) => {
  const token = await machineToken();
  t.match(await verify(token), { subject: machine.client_id, kind: 'machine', scopes: ['notes:read'] });
  t.strictSame(states, ['connected']);
  await form({ token, ...machine } as Record<string, string>, {}, '/oauth2/revoke');
  const ms = await refusedAfter(token);
  t.ok(ms < 1000, `${ms} ms`);
});

t.test('the revoked token of a person', async (t) => {
  const { access_token: token } = await tokensFor(built, {
    ...{ client: web, username: 'ann', password: PASSWORD },
    more: { scope: 'openid notes:read', resource: identifier },
  });
  t.match(await verify(String(token)), { kind: 'person', clientId: web.client_id });
  await form({ token: String(token), ...web } as never, {}, '/oauth2/revoke');
  const ms = await refusedAfter(String(token));
  t.ok(ms < 1000, `${ms} ms`);
  t.equal(verifier.metrics().introspections, 0);
});

t.test('an API key, until it is removed', async (t) => {
  const path = `/api/v1/applications/${machine.client_id}/api-keys`;
  const made = await call('POST', path, ann, { name: 'K', scopes: ['notes:read'], resource: identifier });
  t.equal(made.status, 201);
  const key = String(made.body.api_key);
  t.match(await verify(key), { kind: 'key', clientId: machine.client_id, scopes: ['notes:read'] });
  await verify(key);
  t.equal(verifier.metrics().introspections, 1, 'it is cached');
  t.equal((await call('DELETE', `${path}/${made.body.id}`, ann)).status, 204);
  const ms = await refusedAfter(key);
  t.ok(ms < 1000, `${ms} ms`);
});

t.test(
  'the owner sees its requests, and after how long it has applied the revocation of a test',
  async (t) => {
    const path = `/api/v1/resources/${api.body.id}`;
    const tested = await call('POST', `${path}/revocation-test`, ann);
    const [result] = tested.body.verifiers as { sent_after_ms: number; applied_after_ms: number }[];
    const { sent_after_ms: sent = -1, applied_after_ms: applied = -1 } = result ?? {};
    t.ok(sent >= 0 && applied >= sent && applied < 1000, `${sent} ms, ${applied} ms`);
    const count = verifier.metrics().refused['401 invalid_token'];
    const requestsSeen = async () => {
      const { body } = await call('GET', `${path}/verifiers`, ann);
      return (body.data as { requests: Record<string, number> }[])[0]?.requests;
    };
    const { refused, ...accepted } = (await requestsSeen()) ?? {};
    t.strictSame(refused, [{ status: 401, error: 'invalid_token', count }]);
    t.strictSame(Object.keys(accepted), ['person', 'machine', 'key']);
    t.ok(Object.values(accepted).every(Boolean));
    t.equal(
      Object.values(accepted).reduce((sum, it) => sum + it),
      verifier.metrics().verified,
    );
    await t.rejects(verify('none'));
    await verifier.close();
    t.match(await requestsSeen(), { refused: [{ count: Number(count) + 1 }] });
  },
);

t.test('while the feed is silent, tokens are introspected', async (t) => {
  const withoutFeed = createVerifier({
    ...options,
    clientId: String(server.client_id),
    clientSecret: String(server.client_secret),
    fetch: (url, init) =>
      url.includes('/revocations') ? Promise.reject(new Error('away')) : fetch(url, init),
  });
  t.teardown(() => withoutFeed.close());
  const token = await machineToken();
  t.match(await verify(token, withoutFeed), { kind: 'machine' });
  t.equal(withoutFeed.metrics().introspections, 1);
  await form({ token, ...machine } as Record<string, string>, {}, '/oauth2/revoke');
  await t.rejects(verify(token, withoutFeed), { message: 'The access token has been revoked.' });
});
