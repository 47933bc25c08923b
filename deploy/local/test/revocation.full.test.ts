// Runs alone, as it measures time.
import { setTimeout as sleep } from 'node:timers/promises';
import { jsonRequest } from '@gatehouse/testing/json-request';
import { skip } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { repetitions } from '@gatehouse/testing/repetitions';
import t from 'tap';
import { ADMIN, listStatus, revokeAt, startCluster, tokenFrom } from './cluster.ts';

t.setTimeout(300_000);
// Each has processes of its own, and mostly waits.
t.jobs = 2;

/** How long it takes until the token is refused, in milliseconds. */
async function refusedAfter(users: string, token: string, limitMs: number): Promise<number> {
  const begin = performance.now();
  await until(async () => (await listStatus(users, token)) === 401, limitMs);
  return performance.now() - begin;
}

async function login(identity: string, password = ADMIN.password) {
  const sent = { username: ADMIN.username, password };
  const url = `${identity}/api/v1/auth/login`;
  const { status, body } = await jsonRequest<{ token: string; user_id: string }>('POST', url, { body: sent });
  return { status, ...body };
}

async function permissions(identity: string, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${identity}/api/v1/auth/permissions`, { headers });
  await response.body?.cancel();
  return response.status;
}

t.test('revocations across processes', { skip, buffered: true }, async (t) => {
  const { nats, identity, users } = await startCluster(t);
  const revokeNew = async (limitMs: number) => {
    const token = await tokenFrom(identity.base);
    t.equal(await listStatus(users.base, token), 200);
    t.equal(await revokeAt(identity.base, token), 200);
    return { token, took: await refusedAfter(users.base, token, limitMs) };
  };

  await t.test('reach the other process within a second', async (t) => {
    for (let i = 0; i < repetitions(20); i += 1) t.ok((await revokeNew(5000)).took < 1000);
  });

  await t.test('survive a restart of either side', async (t) => {
    const { token } = await revokeNew(5000);
    await users.kill();
    await users.restart();
    t.equal(await listStatus(users.base, token), 401, 'users has read what was revoked before its start');
    await identity.kill();
    t.equal(await listStatus(users.base, token), 401);
    await identity.restart();
    t.equal(await listStatus(users.base, token), 401);
    await users.kill();
    await users.restart();
    t.equal(await listStatus(users.base, token), 401, 'identity has kept it');
    t.ok((await revokeNew(5000)).took < 1000, 'and new ones come as before');
  });

  await t.test(
    'a password that is changed while identity is away ends the tokens once it is back',
    async (t) => {
      const before = await login(identity.base);
      t.equal(before.status, 200);
      await identity.kill();
      const passwords = { current_password: ADMIN.password, new_password: 'another horse battery' };
      const url = `${users.base}/v1/users/${before.user_id}/password`;
      t.match(await jsonRequest('PUT', url, { token: before.token, body: passwords }), { status: 204 });
      await identity.restart();
      await until(async () => (await permissions(identity.base, before.token)) === 401, 10_000);
      t.pass('identity was told');
      t.equal(await listStatus(users.base, before.token), 401);
      t.equal((await login(identity.base)).status, 401, 'the old password');
      const after = await login(identity.base, 'another horse battery');
      t.equal(after.status, 200);
      t.equal(await permissions(identity.base, after.token), 200);
    },
  );

  await t.test('a feed that is cut for long: polling takes over, and then the broadcast again', async (t) => {
    const cutAt = performance.now();
    await nats.kill();
    // A listener that hears nothing for five seconds asks; those seconds are the longest that a token outlives its end.
    t.ok((await revokeNew(15_000)).took < 8000, 'directly after the cut');
    while (performance.now() - cutAt < repetitions(60_000)) {
      t.ok((await revokeNew(15_000)).took < 3000, 'by polling');
      await sleep(5000);
    }
    t.equal(await users.process.readiness(), 200);
    await nats.start();
    await sleep(5000);
    t.ok((await revokeNew(5000)).took < 1000, 'by the broadcast');
  });
});

t.test(
  'without news of revocations, credentials are accepted for a limited time',
  { skip, buffered: true },
  async (t) => {
    const { nats, identity, users } = await startCluster(t, { REVOCATION_STALE_SECONDS: '10' });
    const token = await tokenFrom(identity.base);
    t.equal(await listStatus(users.base, token), 200);
    await Promise.all([nats.kill(), identity.kill()]);
    const cutAt = performance.now();
    t.equal(await listStatus(users.base, token), 200, 'what is known serves for now');
    await until(async () => (await listStatus(users.base, token)) === 503, 20_000);
    const took = performance.now() - cutAt;
    t.ok(took > 5000 && took < 14_000, `${took} ms`);
    t.equal(await users.process.readiness(), 503);
    await nats.start();
    await identity.restart();
    await until(async () => (await listStatus(users.base, token)) === 200, 20_000);
    t.pass('it serves again when it knows');
  },
);
