// Runs alone, as it measures time.
import { setTimeout as sleep } from 'node:timers/promises';
import { skip } from '@gatehouse/testing/nats-server';
import { freePort } from '@gatehouse/testing/processes';
import { repetitions } from '@gatehouse/testing/repetitions';
import t from 'tap';
import { ADMIN, NAMES, type Node, prepareCluster } from './cluster.ts';
import { prepareForeignServers } from './foreign-servers.ts';
import { testTimes } from './revocation-times.ts';
import { prepareWays } from './revocation-ways.ts';
import { startTcpEdge } from './tcp-edge.ts';

const HOST = '127.0.0.1';
const SERVICES = ['identity', 'users'] as const;
const KILL_EVERY_MS = 10_000;
t.setTimeout(590_000);

t.test('APIs of others refuse what is revoked, while replicas are killed', { skip }, async (t) => {
  const servers = await prepareForeignServers(t);
  const [identityPorts, usersPorts] = [
    [await freePort(), await freePort()],
    [await freePort(), await freePort()],
  ];
  const origins = {
    identity: `http://localhost:${await startTcpEdge(t, identityPorts)}`,
    users: `http://localhost:${await startTcpEdge(t, usersPorts)}`,
  };
  const { start } = await prepareCluster(t, SERVICES, {
    ...Object.fromEntries(NAMES.map((name) => [`${name.toUpperCase()}_URL`, origins.identity])),
    ...{ PUBLIC_URL: origins.identity, USERS_URL: origins.users },
  });
  const ports = { identity: identityPorts, users: usersPorts };
  const replicas: Node[] = [];
  for (const i of [0, 1]) {
    for (const name of SERVICES) replicas.push(await start(name, { HOST, PORT: String(ports[name][i]) }));
  }
  await Promise.all(replicas.map((node) => node.process.ready()));
  const { api, ways } = await prepareWays(origins, ADMIN);
  const running = await servers.start(api, ['introspect', 'introspect']);

  const end = new AbortController();
  let kills = 0;
  const killing = (async () => {
    const begin = performance.now();
    for (;;) {
      const pause = begin + (kills + 1) * KILL_EVERY_MS - performance.now();
      await sleep(Math.max(pause, 0), undefined, { signal: end.signal }).catch(() => {});
      const replica = replicas[kills % replicas.length];
      if (end.signal.aborted || replica === undefined) return;
      await replica.kill();
      kills += 1;
      await replica.restart();
    }
  })();
  await testTimes(t, running, ways, repetitions(1000));
  end.abort();
  await killing;
  t.comment(`${kills} replicas were killed`);
});
