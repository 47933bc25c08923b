// `npm run bench:abuse [-- WORD]`: what one caller with few rights can do to the memory of what `npm start` runs, and to the
// requests of others meanwhile. Runs each abuse of the folder abuse/ whose name contains the word, each on a new Gatehouse, and
// exits with 1 when one of them goes beyond its bounds.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestMongo } from '@gatehouse/testing/test-mongo';
import { type Gatehouse, startGatehouse, tokenOf } from '../test/gatehouse.ts';
import { type OthersRequest, startOthers } from './abuse-others.ts';

/** A running Gatehouse, its database, and the token of a trusted machine. */
export type Target = Gatehouse & { mongoUri: string; token: string };

/** What a file of the folder abuse/ prepares. */
export type Abuse = {
  /** What others ask for, one request after the other; by default one product that does not exist. */
  others?: OthersRequest;
  /** Whether the p99 of others has a bound; by default it has. */
  limitsOthers?: boolean;
  /** Done while the p99 of others before the abuse is measured: the same work, asked for as a good client would. */
  fairUse?(): Promise<void>;
  /** Done while memory and the times of others are measured. Throws when what it asserts does not hold. */
  attack(): Promise<void>;
};

/** What such a file exports. `settings` are environment variables of the Gatehouse that it attacks. */
type AbuseModule = {
  settings?: Readonly<Record<string, string>>;
  prepare(target: Target, scope: { teardown(action: () => unknown): void }): Promise<Abuse>;
};

/** The most memory of the process during and after an abuse: that of a container of docker-compose.yml. */
const MAX_MEGABYTES = 512;
/** The p99 that others may have during it, in milliseconds, by their p99 before. */
const maxP99 = (before: number) => Math.max(2 * before, 50);

const FOLDER = new URL('./abuse/', import.meta.url);
const BEFORE_MS = 5000;
const AFTER_MS = 5000;
const SAMPLE_MS = 50;

/** The resident memory of a process, in MB. */
function megabytesOf({ child }: Gatehouse): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? Number.NaN) / 1024;
}

/** Runs one abuse, and prints a line; returns whether it stayed within its bounds. */
async function measure(name: string): Promise<boolean> {
  const { settings, prepare } = (await import(new URL(`${name}.ts`, FOLDER).href)) as AbuseModule;
  const cleanups: (() => unknown)[] = [];
  const scope = { teardown: (action: () => unknown) => void cleanups.push(action) };
  try {
    const mongo = await startTestMongo();
    scope.teardown(mongo.stop);
    const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
    scope.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
    const gatehouse = await startGatehouse(scope, dataDir, {
      ...{ MONGODB_URI: mongo.uri, LOG_LEVEL: 'error' },
      // As in docker-compose.yml, and Node's choice of a heap for a container of 512 MB.
      ...{ MALLOC_ARENA_MAX: '1', NODE_OPTIONS: '--max-semi-space-size=4 --max-old-space-size=256' },
      ...settings,
    });
    const token = await tokenOf(gatehouse);
    const {
      others,
      limitsOthers = true,
      fairUse,
      attack,
    } = await prepare({ ...gatehouse, mongoUri: mongo.uri, token }, scope);
    const measured = startOthers(
      gatehouse.base,
      token,
      others ?? { method: 'GET', path: '/v2/products/none' },
    );
    scope.teardown(measured.stop);
    // Until it is warm.
    await sleep(BEFORE_MS);
    await measured.p99();
    await (fairUse?.() ?? sleep(BEFORE_MS));
    const before = { megabytes: megabytesOf(gatehouse), p99: await measured.p99() };
    let highest = before.megabytes;
    const sampling = setInterval(() => {
      highest = Math.max(highest, megabytesOf(gatehouse));
    }, SAMPLE_MS);
    let problem = '';
    await attack()
      .catch((error: unknown) => {
        problem = String(error);
      })
      .finally(() => clearInterval(sampling));
    const p99 = await measured.p99();
    await sleep(AFTER_MS);
    const after = megabytesOf(gatehouse);
    const p99Bound = limitsOthers ? maxP99(before.p99) : Number.POSITIVE_INFINITY;
    const holds = problem === '' && Math.max(highest, after) <= MAX_MEGABYTES && p99 <= p99Bound;
    const memory = [before.megabytes, highest, after].map((mb) => mb.toFixed(0)).join(' → ');
    process.stdout.write(
      `${name.padEnd(24)} ${holds ? 'pass' : 'FAIL'}  memory ${memory} MB (at most ${MAX_MEGABYTES}); ` +
        `others’ p99 ${before.p99.toFixed(1)} → ${p99.toFixed(1)} ms (at most ${p99Bound.toFixed(1)}) ${problem}\n`,
    );
    return holds;
  } finally {
    for (const clean of cleanups.reverse()) await clean();
  }
}

const word = process.argv[2] ?? '';
const names = readdirSync(FOLDER)
  .map((file) => basename(file, '.ts'))
  .filter((name) => name.includes(word))
  .sort();
const failed: string[] = [];
for (const name of names) if (!(await measure(name))) failed.push(name);
process.exitCode = failed.length > 0 || names.length === 0 ? 1 : 0;
