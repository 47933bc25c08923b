import { mock } from 'node:test';
import { until } from '@gatehouse/testing/processes';
import { decodeJwt } from 'jose';
import t, { type Test } from 'tap';
import { type Issuer, startIssuer, verifierOf } from './issuer.ts';
import { tokenOfNow } from './local.ts';
import { AUDIENCE, apiKey } from './vectors/signing.ts';

const TEST = 'revocation-test-1';
const FEED = '/api/v1/resources/rsr_1/revocations';
const bodies = (issuer: Issuer) => issuer.reports().map(({ body }) => JSON.parse(body));
const requests = (change: object) => ({ person: 0, machine: 0, key: 0, refused: [], ...change });

/** A verifier that has verified `person` requests; `tick` lets 30 seconds pass for its reports. */
async function start(t: Test) {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const issuer = await startIssuer(t);
  const { verifier } = verifierOf(t, issuer);
  const verify = (token: string) => {
    const headers: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` };
    return verifier.verify(new Request(AUDIENCE, { headers }), { scopes: ['notes:read'] });
  };
  const person = await tokenOfNow({ iss: issuer.url, scope: 'notes:read' });
  await verify(person);
  const { headers: described = {} } = issuer.requests.find((it) => it.path === FEED) ?? {};
  const [, id] = /^id=([\w-]+)/.exec(String(described['x-gatehouse-verifier'])) ?? [];
  const path = `/api/v1/resources/rsr_1/verifiers/${id}/report`;
  const tick = () => mock.timers.tick(30_000);
  /** Lets 30 seconds pass again and again: a report may be under way. */
  const tickUntilReports = (count: number) =>
    until(() => {
      tick();
      return issuer.reports().length === count;
    }, 2000);
  /** Resolves once the revocations that were sent until now are in force. */
  const revocationsApplied = async () => {
    issuer.revoke({ kind: 'token', id: decodeJwt(person).jti });
    const isRevoked = () =>
      verify(person).then(
        () => false,
        () => true,
      );
    await until(isRevoked, 2000);
  };
  return { issuer, verifier, verify, person, path, described, tick, tickUntilReports, revocationsApplied };
}

t.test('accepted requests by the kind of caller, and refused requests by error', async (t) => {
  const { issuer, verifier, verify, person, path, described, tick } = await start(t);
  const key = apiKey('k3Y');
  issuer.introspection[key] = { active: true, aud: AUDIENCE, client_id: 'cli_7', scope: 'notes:read' };
  const machine = { sub: 'cli_1', client_id: 'cli_1', scope: 'notes:read' };
  for (const token of [key, person, await tokenOfNow({ iss: issuer.url, ...machine })]) await verify(token);
  for (const token of ['', 'x', 'x', await tokenOfNow({ iss: issuer.url, scope: '' })]) {
    await t.rejects(verify(token));
  }
  t.same(issuer.reports(), [], 'a request waits for no report');
  tick();
  await until(() => issuer.reports().length === 1, 2000);
  const refused = [
    { status: 401, error: 'unauthorized', count: 1 },
    { status: 401, error: 'invalid_token', count: 2 },
    { status: 403, error: 'insufficient_scope', count: 1 },
  ];
  t.strictSame(bodies(issuer), [{ requests: { person: 2, machine: 1, key: 1, refused } }]);
  const [report] = issuer.reports();
  t.equal(report?.path, path);
  t.match(report?.headers, {
    authorization: described.authorization,
    'content-type': 'application/json',
  });
  await verifier.close();
  t.equal(issuer.reports().length, 1, 'nothing is new');
});

t.test('what could not be sent is in the next report', async (t) => {
  const { issuer, verify, person, path, tickUntilReports } = await start(t);
  issuer.instead.set(path, (_request, response) => void response.writeHead(500).end());
  await tickUntilReports(1);
  issuer.instead.delete(path);
  await tickUntilReports(2);
  await verify(person);
  await tickUntilReports(3);
  t.match(
    bodies(issuer),
    [1, 1, 2].map((person) => ({ requests: { person } })),
  );
});

t.test('an issuer without reports gets none until the next connection', async (t) => {
  for (const status of [403, 404]) {
    const { issuer, verifier, path, tick, tickUntilReports, revocationsApplied } = await start(t);
    issuer.instead.set(path, (_request, response) => void response.writeHead(status).end());
    tick();
    await until(() => issuer.reports().length === 1, 2000);
    issuer.revoke({ kind: 'token', id: TEST });
    await revocationsApplied();
    tick();
    issuer.instead.delete(path);
    for (const stream of issuer.streams) stream.destroy();
    await until(() => issuer.count(FEED) === 2, 2000);
    await tickUntilReports(2);
    await verifier.close();
    t.equal(issuer.reports().length, 2, `${status}`);
  }
});

t.test('the revocation of a test is reported at once, after a report that is under way', async (t) => {
  const { issuer, verifier, path, tick, revocationsApplied } = await start(t);
  issuer.revoke({ kind: 'token', id: 'jti_9' });
  issuer.revoke({ kind: 'token', id: TEST });
  await until(() => issuer.reports().length === 1, 500);
  t.strictSame(bodies(issuer), [{ applied: TEST, requests: requests({ person: 1 }) }]);
  let finish = () => {};
  issuer.instead.set(path, (_request, response) => {
    finish = () => void response.writeHead(500).end();
  });
  issuer.revoke({ kind: 'token', id: 'revocation-test-2' });
  await until(() => issuer.reports().length === 2, 500);
  issuer.revoke({ kind: 'token', id: 'revocation-test-3' });
  issuer.revoke({ kind: 'token', id: 'revocation-test-4' });
  await revocationsApplied();
  tick();
  issuer.instead.delete(path);
  finish();
  await until(() => issuer.reports().length === 3, 500);
  t.equal(bodies(issuer)[2].applied, 'revocation-test-4');
  await verifier.close();
  t.equal(issuer.reports().length, 3);
});

t.test('the end of a verifier', async (t) => {
  const first = await start(t);
  await first.verifier.close();
  t.strictSame(bodies(first.issuer), [{ requests: requests({ person: 1 }) }]);
  const second = await start(t);
  second.issuer.instead.set(second.path, () => {});
  second.tick();
  await until(() => second.issuer.reports().length === 1, 500);
  await second.verify(second.person);
  const begun = performance.now();
  await second.verifier.close();
  const ms = performance.now() - begun;
  t.ok(ms > 1000 && ms < 2000, `${ms} ms`);
});
