import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceName } from '@gatehouse/core/services';
import { skip, startNatsWithPermissions } from '@gatehouse/testing/nats-server';
import { freePort, spawnService, until } from '@gatehouse/testing/processes';
import { atScale } from '@gatehouse/testing/repetitions';
import { createTestIssuer } from '@gatehouse/testing/test-issuer';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';

const TOTAL = atScale(100_000);
const KILL_AFTER = TOTAL * 0.6;
const CONCURRENCY = 16;
/** After a kill: the others have sent more meanwhile, and the killed one is not given up yet. */
const WAITED_MS = 18_000;
const PATH = '/api/v1/items';

type Log = { at: number; status: number };

/** The requests of clients in the access log of a process. */
function accessLog(output: string): Log[] {
  return output.split('\n').flatMap((line) => {
    if (!line.includes(`"route":"${PATH}"`)) return [];
    const { time, status } = JSON.parse(line) as { time: string; status: number };
    return [{ at: Date.parse(time), status }];
  });
}

t.test('analytics equal the access logs, but for what a killed process had not sent', { skip }, async (t) => {
  const nats = await startNatsWithPermissions(t);
  const issuer = await createTestIssuer(t, 'items');
  const itemsUri = await testDatabase(t);
  const notificationsUri = await testDatabase(t);
  async function start(service: ServiceName, mongodbUri: string) {
    const port = await freePort();
    const main = new URL(`../../../services/${service}/src/service.ts`, import.meta.url).pathname;
    const prefix = service.toUpperCase();
    const node = await spawnService(main, {
      HOST: '127.0.0.1',
      PORT: String(port),
      PUBLIC_URL: issuer.issuer,
      IDENTITY_URL: issuer.issuer,
      USERS_URL: issuer.issuer,
      COMMERCE_URL: issuer.issuer,
      NOTIFICATIONS_URL: issuer.issuer,
      TRUSTED_PROXIES: '127.0.0.1',
      RATE_LIMIT: 'off',
      SHUTDOWN_DELAY_SECONDS: '0',
      NATS_URL: nats.urlOf(service),
      [`${prefix}_MONGODB_URI`]: mongodbUri,
      [`${prefix}_CLIENT_SECRET`]: issuer.client.secret,
      [`${prefix}_MASTER_KEY`]: 'ab'.repeat(32),
    });
    t.teardown(async () => {
      node.child.kill('SIGKILL');
      await node.ended;
    });
    await node.ready(30_000);
    return { ...node, port };
  }
  const notifications = await start('notifications', notificationsUri);
  const [stays, dies] = [await start('items', itemsUri), await start('items', itemsUri)];
  const token = await issuer.machine('read:data');
  const begun = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000).toISOString();
  const ask = async (interval: string) => {
    const query = `metric=requests&group_by=route&client_id=app_test&interval=${interval}&from=${begun}`;
    const response = await fetch(`http://127.0.0.1:${notifications.port}/api/v1/analytics?${query}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const { as_of, totals } = (await response.json()) as {
      as_of: string | null;
      totals: { route: string; value: number }[];
    };
    const sum = totals.find(({ route }) => route === `GET ${PATH}`)?.value ?? 0;
    return { asOf: Date.parse(as_of ?? '1970-01-01'), sum };
  };

  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });
  t.teardown(() => agent.destroy());
  const get = (port: number) =>
    new Promise<void>((resolve) => {
      const asked = request({
        port,
        host: '127.0.0.1',
        path: PATH,
        agent,
        headers: { authorization: `Bearer ${token}` },
      });
      asked.on('response', (response) => response.resume().on('close', resolve));
      asked.on('error', () => resolve());
      asked.end();
    });
  let sent = 0;
  let isKilled = false;
  let killedAt = 0;
  let heldUp: Promise<number> | undefined;
  async function client(): Promise<void> {
    while (sent < TOTAL) {
      sent += 1;
      if (sent === KILL_AFTER) {
        isKilled = true;
        killedAt = Date.now();
        dies.child.kill('SIGKILL');
        // While the killed one is still waited for, as_of is the end of its last batch.
        heldUp = sleep(WAITED_MS).then(async () => (await ask('minute')).asOf);
      }
      await get(isKilled || sent % 2 === 0 ? stays.port : dies.port);
    }
  }
  let isDone = false;
  let freshest = Number.POSITIVE_INFINITY;
  /** At any moment, everything in the logs before as_of is in the sum. */
  async function watch(): Promise<void> {
    while (!isDone) {
      const { asOf, sum } = await ask('minute');
      freshest = Math.min(freshest, Date.now() - asOf);
      if (!isKilled) {
        const before = [stays, dies]
          .flatMap(({ output }) => accessLog(output()))
          .filter(({ at }) => at < asOf);
        t.ok(sum >= before.length, `${sum} of ${before.length} before as_of`);
      }
      await sleep(3000);
    }
  }
  const watching = watch();
  await Promise.all(Array.from({ length: CONCURRENCY }, client));
  await dies.ended;
  isDone = true;
  await watching;
  t.comment(`as_of was at best ${freshest} ms old`);
  t.ok(freshest < 15_000);

  const sentUntil = (await heldUp) ?? 0;
  const logs = { stays: accessLog(stays.output()), dies: accessLog(dies.output()) };
  const logged = logs.stays.length + logs.dies.length;
  const unflushed = logs.dies.filter(({ at }) => at >= sentUntil).length;
  t.ok(unflushed > 0 && sentUntil < killedAt, 'as_of tells that something may be missing');

  // Everything that the living one counted, and what the killed one sent.
  const end = Date.now();
  let last = await ask('minute');
  await until(async () => {
    last = await ask('minute');
    return last.asOf > end;
  }, 90_000);
  t.comment(
    `${logged} in the logs, ${last.sum} counted, ${logged - last.sum} missing, ${unflushed} unflushed in the killed one`,
  );
  t.ok(logged - last.sum <= unflushed, 'no more is missing than what was not sent');
  t.ok(last.sum <= logged + 200, 'and nothing is counted twice: of the log, the last 20 ms may be missing');
  t.ok(last.sum >= logs.stays.length, 'nothing of the living one is missing');
  t.ok(logged > TOTAL - 500, `${logged} requests`);

  await until(async () => (await ask('hour')).asOf > end, 120_000);
  t.equal((await ask('hour')).sum, last.sum, 'by hours it is the same');
});
