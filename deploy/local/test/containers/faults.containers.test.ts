import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SERVICE_NAMES } from '@gatehouse/core/services';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { createProject, skip, startLoad } from './compose.ts';

// What the services take at rest, and what becomes of requests and writes when a container is killed, in a real Docker.

t.setTimeout(1_700_000);
if (skip) t.plan(0, skip);
if (skip) process.exit();

/** From when the start is over: it leaves some memory to be collected. */
const SETTLED_MS = 120_000;
const REST_MS = 60_000;
/** What a service is to take on a machine that does nothing else, and what it never takes: what is over the first is named. */
const AIMS = { megabytes: 100, shareOfCore: 0.01 };
const BOUNDS = { megabytes: 125, shareOfCore: 0.025, megabytesAboveBase: 100 };
/** Within which everything works again after a kill. */
const RECOVERY_MS = 10_000;
/** Without a failure for so long, the load is over the kill. */
const QUIET_MS = 5000;
/** Jobs are published again when they are a minute overdue, by a sweep every half minute. */
const ENDED_WITHIN_MS = 240_000;
const STORES = ['nats', 'mongo', 'caddy'];
const TWO_OF_EACH = SERVICE_NAMES.map((name) => `--scale ${name}=2`).join(' ');

const project = await createProject(t);
const { sh } = project;
await sh('deploy/docker/make-env.sh');
await up();

async function up(): Promise<void> {
  await sh('docker compose up -d --build');
  await project.healthy();
  const root = '/data/caddy/pki/authorities/local/root.crt';
  await sh(`docker compose exec -T caddy cat ${root} > ~/gatehouse-root.crt`);
  project.trust();
}

const idOf = async (service: string) => (await project.containers(service))[0]?.ID ?? '';

/** The processor time that a container has taken so far, in seconds. */
async function cpuSeconds(id: string): Promise<number> {
  // The files of version 2 and of version 1 of control groups, in microseconds and nanoseconds.
  const files = '/sys/fs/cgroup/cpu.stat /sys/fs/cgroup/cpuacct/cpuacct.usage';
  const text = await sh(`docker exec ${id} sh -c 'cat ${files} 2>/dev/null || true'`);
  const [, microseconds] = /^usage_usec (\d+)/m.exec(text) ?? [];
  return microseconds === undefined ? Number(text) / 1e9 : Number(microseconds) / 1e6;
}

const UNITS: Record<string, number> = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** The memory of a container in megabytes, without the cache of files. */
async function megabytes(id: string): Promise<number> {
  const usage = await sh(`docker stats --no-stream --format '{{.MemUsage}}' ${id}`);
  const [, amount, unit = ''] = /^([\d.]+)(\w+)/.exec(usage) ?? [];
  return (Number(amount) * (UNITS[unit] ?? 1)) / 1e6;
}

await t.test('at rest', async (t) => {
  await sleep(SETTLED_MS);
  const ids = await Promise.all(SERVICE_NAMES.map(idOf));
  const before = await Promise.all(ids.map(cpuSeconds));
  await sleep(REST_MS);
  const after = await Promise.all(ids.map(cpuSeconds));
  for (const [i, name] of SERVICE_NAMES.entries()) {
    const memory = await megabytes(ids[i] ?? '');
    const share = (((after[i] ?? 0) - (before[i] ?? 0)) * 1000) / REST_MS;
    const isOver = memory > AIMS.megabytes || share > AIMS.shareOfCore;
    const over = isOver ? ` (the aim is ${AIMS.megabytes} MB and ${AIMS.shareOfCore * 100} %)` : '';
    t.comment(`${name}: ${memory.toFixed(0)} MB, ${(share * 100).toFixed(2)} % of a core${over}`);
    t.ok(memory <= BOUNDS.megabytes, `${name} takes at most ${BOUNDS.megabytes} MB`);
    t.ok(share <= BOUNDS.shareOfCore, `${name} takes at most ${BOUNDS.shareOfCore * 100} % of a core`);
  }
  const size = async (image: string) =>
    Number(await sh(`docker image inspect -f '{{.Size}}' ${image}`)) / 1e6;
  const above = (await size('"$GATEHOUSE_IMAGE"')) - (await size('"$NODE_IMAGE"'));
  t.comment(`the image: ${above.toFixed(0)} MB above its base`);
  t.ok(above <= BOUNDS.megabytesAboveBase, `at most ${BOUNDS.megabytesAboveBase} MB above its base`);
});

/**
 * Kills the first process of a container as kill -9 does: from a container that sees all processes of the machine, since
 * `docker kill` tells Docker not to start it again.
 */
async function kill(id: string): Promise<void> {
  const pid = await sh(`docker inspect -f '{{.State.Pid}}' ${id}`);
  await sh(`docker run --rm --pid host --user root --entrypoint bash "$NODE_IMAGE" -c 'kill -9 ${pid}'`);
}

/** Kills a container while requests come in, and waits until all is well again. */
const killUnderLoad = (name: string) =>
  t.test(`kill -9 of ${name} under load`, async (t) => {
    const load = await startLoad(t, project);
    await sleep(3000);
    t.same(load.failures, [], 'none fails before');
    const before = load.acknowledged.length;
    const killedAt = performance.now();
    const id = await idOf(name);
    await kill(id);
    const lastFailure = () => load.failures.at(-1)?.at ?? killedAt;
    const since = () => performance.now() - Math.max(lastFailure(), killedAt);
    await until(() => since() > QUIET_MS, 120_000).catch(() => {});
    const told = await load.stop();
    const recovery = lastFailure() - killedAt;
    t.comment(`${name}: ${told}; the last failure ${(recovery / 1000).toFixed(1)} s after the kill`);
    t.ok(recovery <= RECOVERY_MS, `everything works again within ${RECOVERY_MS / 1000} s`);
    t.ok(load.acknowledged.length > before, 'writes are acknowledged afterwards');
    t.not(await sh(`docker inspect -f '{{.RestartCount}}' ${id}`), '0', 'Docker has started it again');
    await project.healthy();
    t.same(await load.lost(), [], `none of ${load.acknowledged.length} acknowledged writes is lost`);

    const open = new Set(load.acknowledged.filter(({ service }) => service === 'notifications'));
    const isEnded = async (path: string) =>
      ['sent', 'failed'].includes(String((await load.call('notifications', 'GET', path)).status));
    await until(async () => {
      for (const each of open) if (await isEnded(each.path)) open.delete(each);
      return open.size === 0;
    }, ENDED_WITHIN_MS).catch(() => {});
    t.equal(open.size, 0, 'every notification that was accepted has been processed');
  });

await t.test('two of each service', async () => {
  await sh(`docker compose up -d ${TWO_OF_EACH}`);
  await project.healthy();
});
for (const name of [...SERVICE_NAMES, ...STORES]) await killUnderLoad(name);

await t.test('NATS as a cluster of three', async () => {
  const [, lines = ''] = /^```\n(COMPOSE_PROFILES=.*?)^```$/ms.exec(project.guide()) ?? [];
  await sh('docker compose down --volumes');
  appendFileSync(join(project.tree, '.env'), lines);
  await up();
});
await killUnderLoad('nats-1');
