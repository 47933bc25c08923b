// `npm run bench:rest [-- MINUTES]`: what runs while nobody asks for anything, in the process of `npm start` and with a
// process for each service, NATS and one database, both started at the same time. After a minute of rest it measures for
// so many minutes (1 unless told): CPU time of each process, operations that the database has counted, and which commands the
// services have sent to it (count-commands.mjs). Monitoring of the driver, such as its heartbeats, is in the CPU time only.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { natsServer } from '@gatehouse/testing/nats-server';
import { URI_FILE } from '../src/data-dir.ts';
import { startCluster } from '../test/cluster.ts';
import { startGatehouse } from '../test/gatehouse.ts';

const minutes = Number(process.argv[2] ?? 1);
const SETTLE_MS = 60_000;
/** For the processes to write their counts. */
const WRITING_MS = 500;
const TICKS_PER_SECOND = 100;
/** How many of the most frequent commands are named. */
const NAMED = 20;

const cleanups: (() => unknown)[] = [];
const scope = { teardown: (action: () => unknown) => void cleanups.push(action) };
const logger = createLogger({ name: 'bench', level: 'error' });

type Process = { parent: number; name: string; seconds: number };

/** The processes below this one, by pid, with the CPU time that each has used. */
function processes(): Map<number, Process> {
  const all = new Map<number, Process>();
  for (const pid of readdirSync('/proc').map(Number)) {
    if (Number.isNaN(pid)) continue;
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      // What follows the name of the program, which may contain anything.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const seconds = (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      const name = /(\w+)\/src\/(?:main|service)\.ts|engine-host|nats-server|mongod/.exec(command);
      all.set(pid, { parent: Number(fields[1]), name: name?.[1] ?? name?.[0] ?? 'other', seconds });
    } catch {
      // It has ended meanwhile.
    }
  }
  const isOurs = (pid: number): boolean =>
    pid === process.pid || (pid > 1 && isOurs(all.get(pid)?.parent ?? 0));
  return new Map([...all].filter(([pid]) => pid !== process.pid && isOurs(pid)));
}

/** What the database has counted. The connection is closed again, as its heartbeats take time. */
async function counters(uri: string): Promise<Record<string, number>> {
  const database = createDatabase({ uri, name: 'admin', logger });
  await database.start();
  try {
    const status = await database.connection.useDb('admin').db?.command({ serverStatus: 1 });
    return status?.opcounters as Record<string, number>;
  } finally {
    await database.stop();
  }
}

/** How often each process has sent each command, by pid. */
async function commands(
  ours: Map<number, Process>,
  folder: string,
): Promise<Map<number, Record<string, number>>> {
  const services = [...ours].filter(([, { name }]) => name !== 'mongod' && !name.includes('-'));
  for (const [pid] of services) process.kill(pid, 'SIGUSR2');
  await sleep(WRITING_MS);
  return new Map(
    services.map(([pid]) => [pid, JSON.parse(readFileSync(join(folder, `${pid}.json`), 'utf8'))]),
  );
}

const print = (line: string) => process.stdout.write(`${line}\n`);

try {
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
  cleanups.push(() => rmSync(dataDir, { recursive: true, force: true }));
  const env = {
    COUNTS: dataDir,
    NODE_OPTIONS: `--import=${join(import.meta.dirname, 'count-commands.mjs')}`,
  };
  const one = await startGatehouse(scope, dataDir, env);
  const databases = new Map([['npm start', readFileSync(join(dataDir, URI_FILE), 'utf8').trim()]]);
  if (natsServer) {
    const cluster = await startCluster(scope, env, ['items', 'commerce', 'notifications']);
    databases.set('processes', String(cluster.databases.get('users')));
  } else print('a process for each service: not measured, as there is no nats-server on this machine');

  const measure = async () => {
    const ours = processes();
    return {
      ours,
      sent: await commands(ours, dataDir),
      counted: await Promise.all([...databases.values()].map(counters)),
    };
  };
  await sleep(SETTLE_MS);
  const before = await measure();
  await sleep(minutes * 60_000);
  const after = await measure();

  const placeOf = (pid: number) =>
    [pid, after.ours.get(pid)?.parent].includes(one.child.pid ?? 0) ? 'npm start' : 'processes';
  const perSecond = (count: number) => (count / (60 * minutes)).toFixed(2);
  print(`CPU in ${minutes} min, in % of a core`);
  for (const [pid, { name, seconds }] of after.ours) {
    const used = seconds - (before.ours.get(pid)?.seconds ?? 0);
    print(`  ${placeOf(pid).padEnd(10)} ${name.padEnd(14)} ${perSecond(100 * used)}`);
  }
  for (const [i, place] of [...databases.keys()].entries()) {
    const kinds = Object.entries(after.counted[i] ?? {}).map(([kind, count]) => ({
      kind,
      count: count - (before.counted[i]?.[kind] ?? 0),
    }));
    const sum = kinds.reduce((total, { count }) => total + count, 0);
    const parts = kinds
      .filter(({ count }) => count > 0)
      .map(({ kind, count }) => `${kind} ${perSecond(count)}`);
    print(`\nDatabase operations a second, ${place}: ${perSecond(sum)} (${parts.join(', ')})`);
    const sent = [...after.sent]
      .filter(([pid]) => placeOf(pid) === place)
      .flatMap(([pid, counts]) =>
        Object.entries(counts).map(([what, n]) => [what, n - (before.sent.get(pid)?.[what] ?? 0)] as const),
      )
      .sort((a, b) => b[1] - a[1]);
    for (const [what, count] of sent.slice(0, NAMED)) print(`  ${perSecond(count).padStart(6)} ${what}`);
  }
} finally {
  for (const clean of cleanups.reverse()) await clean();
}
