// `node run-tests.ts [--full | --nightly | --containers] [PATTERN…]` runs the test files whose paths contain one of the
// patterns, or all of them. Its last line is `N passed, N failed, N skipped`; it exits with 0 when some passed and none failed.
// Why this is not tap's own runner: docs/adr/0011-test-runner.md.
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { createLogger } from '@gatehouse/core/logger';
import t from 'tap';
import { dockerFault, IMAGE_SETTINGS, prepareImage } from './compose-images.ts';
import { NATS_IMAGE_VARIABLE, startMongoContainer } from './containers.ts';
import { findNatsServer, NATS_SERVER_VARIABLE } from './nats-server-program.ts';
import { NIGHTLY_VARIABLE, SCALE_VARIABLE } from './repetitions.ts';
import { batchesOf, runBatch } from './test-batch.ts';
import { type FileResult, indent, runTestFile } from './test-file.ts';
import { type Kind, kindOf, placeOf } from './test-kinds.ts';
import { MONGO_URI_VARIABLE, NO_MONGO_VARIABLE, startTestMongo } from './test-mongo.ts';

const TIMEOUT_MS = 60_000;
const LONG_TIMEOUT_MS = process.env[SCALE_VARIABLE] === '1' ? 3_600_000 : 600_000;
const CONTAINERS_TIMEOUT_MS = 1_800_000;

/** With `1`, MongoDB and NATS run in containers of the images in docker-compose.yml, where there is Docker. */
const CONTAINERS_VARIABLE = 'GATEHOUSE_TEST_CONTAINERS';
/** The contracts of stores, job queues and events, which run with --containers, too. */
const CONTRACTS = /^packages\/(?:events|data)\/test\/[\w-]+\.test|job-queue|-store\.test/;

/** Each collection and index of a database is an open file of MongoDB, also after it is dropped. A server has a limit, such as 20,000. */
const FILES_PER_MONGODB = 100;

/** How many of the slowest files are listed. */
const SLOWEST = 10;

/** A comment of a test, and none of tap's own. */
const COMMENT = /^ *# (?!Subtest: |time=|\{ |(?:passing|failing|skip|todo):)(.+)$/;

/** With more failures than this the fault is not the load of the machine. */
const MAX_FILES_RUN_AGAIN = 5;

const { values: options, positionals: patterns } = parseArgs({
  options: {
    /** Includes *.full.test.ts: load, faults and browsers, which take minutes. */
    full: { type: 'boolean', default: false },
    /** Includes these and *.nightly.test.ts, and repeats what only chance brings to light more often. */
    nightly: { type: 'boolean', default: false },
    /** The tests of the compose file and its images; none without Docker. */
    containers: { type: 'boolean', default: false },
    /** The folder with packages, services and deploy. */
    root: { type: 'string', default: resolve(import.meta.dirname, '../../..') },
    /** In seconds, for each file; one minute by default. */
    timeout: { type: 'string' },
  },
  allowPositionals: true,
});
const root = resolve(options.root);
if (options.nightly) process.env[NIGHTLY_VARIABLE] = '1';
// One more than there are processors: many files wait most of the time, for timeouts and for other processes.
const jobs = Number(process.env.JOBS) || availableParallelism() + 1;
const timeout = options.timeout ? Number(options.timeout) * 1000 : TIMEOUT_MS;

// tap is here to read results. The root test that it makes in every process would time out after 30 s.
t.setTimeout(0);

const stopping = new AbortController();
process.on('SIGINT', () => stop(130));
process.on('SIGTERM', () => stop(143));
process.on('SIGHUP', () => stop(129));
process.on('disconnect', () => stop(143));

const files = findFiles();
const inContainers = options.containers || process.env[CONTAINERS_VARIABLE] === '1';
const fault = inContainers ? await dockerFault() : undefined;
if (fault !== undefined) process.stdout.write(`Not run in containers. ${fault}\n`);
if (fault !== undefined && options.containers) process.exit(0);
if (inContainers && fault === undefined && files.length > 0) await prepareImages();
const results: FileResult[] = [];
const isMongoGiven = Boolean(process.env[MONGO_URI_VARIABLE]);
let mongo: Awaited<ReturnType<typeof startMongo>>;
if (files.length > 0) await findNats();
/** Files that failed, before they were run again. */
const failedOnce = new Set<string>();
const ofKind = (...kinds: Kind[]) => files.filter((file) => kinds.includes(kindOf(file)));
const longFiles = Map.groupBy(ofKind('full', 'nightly'), (file) => placeOf(resolve(root, file)));
await runBatches(ofKind('quick'), timeout);
await runBatches(longFiles.get('shared') ?? [], LONG_TIMEOUT_MS);
// One more, as they wait for processes of their own.
await runAll(
  [...(longFiles.get('first') ?? []), ...(longFiles.get('beside') ?? [])],
  jobs + 1,
  LONG_TIMEOUT_MS,
);
// One at a time: they must neither disturb others nor be disturbed.
await runAll(longFiles.get('alone') ?? [], 1, LONG_TIMEOUT_MS);
await runAll(ofKind('containers'), 1, CONTAINERS_TIMEOUT_MS);
await runFailedAgain();
const flakyFiles = results
  .filter(({ file, failed }) => failed === 0 && failedOnce.has(file))
  .map(({ file }) => file);
await stopMongo(mongo);

const status = summarize();
// After the last write, because process.exit() drops what a pipe has not yet taken.
process.stdout.write('', () => process.exit(stopping.signal.aborted ? stopping.signal.reason : status));

function findFiles(): string[] {
  const all = globSync('{packages,services,deploy}/*/test/**/*.test.ts', {
    cwd: root,
    exclude: ['**/node_modules/**', '**/test/fixtures/**'],
  });
  const kinds: Kind[] = options.nightly
    ? ['quick', 'full', 'nightly']
    : options.full
      ? ['quick', 'full']
      : ['quick'];
  return all
    .filter((file) =>
      options.containers
        ? kindOf(file) === 'containers' || CONTRACTS.test(file)
        : kinds.includes(kindOf(file)),
    )
    .filter((file) => patterns.length === 0 || patterns.some((pattern) => file.includes(pattern)))
    .sort();
}

function stop(exitStatus: number): void {
  if (stopping.signal.aborted) process.exit(exitStatus);
  stopping.abort(exitStatus);
}

/** Finds or builds the images of the compose file, says which they are, and names them to the tests and to Compose. */
async function prepareImages(): Promise<void> {
  const say = (line: string) => void process.stdout.write(`${line}\n`);
  const settings = options.containers ? IMAGE_SETTINGS : (['MONGO_IMAGE', 'NATS_IMAGE'] as const);
  for (const setting of settings) {
    const { image, wanted, isStandIn } = await prepareImage(setting, process.env, say);
    process.env[setting] = image;
    say(isStandIn ? `${image} stands in for ${wanted}.` : `${image} is used as it is.`);
    // Testcontainers' own image, which removes what a killed run leaves behind, is not to be had then, either.
    if (isStandIn) process.env.TESTCONTAINERS_RYUK_DISABLED = 'true';
  }
  process.env[NATS_IMAGE_VARIABLE] = process.env.NATS_IMAGE;
}

/** Starts a MongoDB for some files. When there is none, the files that need it fail and say why. */
async function startMongo() {
  if (isMongoGiven || process.env[NO_MONGO_VARIABLE]) return undefined;
  const image = inContainers ? process.env.MONGO_IMAGE : undefined;
  try {
    const started = await (image ? startMongoContainer(image) : startTestMongo());
    process.env[MONGO_URI_VARIABLE] = started.uri;
    return started;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    process.env[NO_MONGO_VARIABLE] = message;
    process.stdout.write(`No MongoDB for the tests (${MONGO_URI_VARIABLE} can name one). ${message}\n`);
    return undefined;
  }
}

async function stopMongo(started: { stop(): Promise<unknown> } | undefined): Promise<void> {
  await started?.stop().catch((error) => process.stdout.write(`MongoDB did not stop: ${error}\n`));
}

/** Finds or fetches one nats-server for the whole run. When there is none, the tests that need it are not run. */
async function findNats(): Promise<void> {
  const logger = createLogger({ name: 'test', level: 'info', readable: true });
  try {
    process.env[NATS_SERVER_VARIABLE] ??= await findNatsServer(process.env, logger);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    process.env[NATS_SERVER_VARIABLE] = '';
    process.stdout.write(`No nats-server for the tests. ${message}\n`);
  }
}

/** Prints the comments of tests in files that take minutes. */
function onLine(file: string, line: string): void {
  const [, comment] = COMMENT.exec(line) ?? [];
  const takesMinutes = ['containers', 'nightly'].includes(kindOf(file));
  if (comment !== undefined && takesMinutes) process.stdout.write(`     ${comment}\n`);
}

async function runAll(queue: string[], workers: number, limit: number): Promise<void> {
  while (queue.length > 0 && !stopping.signal.aborted) {
    await stopMongo(mongo);
    mongo = await startMongo();
    await runSome(queue.splice(0, FILES_PER_MONGODB), workers, limit);
  }
}

/** Runs files that share processes, then by themselves those of them that failed or did not run. */
async function runBatches(all: readonly string[], limit: number): Promise<void> {
  const queue = batchesOf(all).filter((batch) => batch.length > 1);
  const work = async () => {
    let own = await startMongo();
    let filesOfOwn = 0;
    for (let batch = queue.shift(); batch && !stopping.signal.aborted; batch = queue.shift()) {
      const { signal } = stopping;
      filesOfOwn += batch.length;
      if (filesOfOwn > FILES_PER_MONGODB) {
        await stopMongo(own);
        own = await startMongo();
        filesOfOwn = batch.length;
      }
      const env = own === undefined ? process.env : { ...process.env, [MONGO_URI_VARIABLE]: own.uri };
      for (const result of await runBatch(batch, { root, env, timeout: limit, signal })) {
        if (result.failed > 0) failedOnce.add(result.file);
        else {
          results.push(result);
          report(result);
        }
      }
    }
    await stopMongo(own);
  };
  await Promise.all(Array.from({ length: jobs }, work));
  const passed = new Set(results.map(({ file }) => file));
  const rest = all.filter((file) => !passed.has(file));
  await runAll(rest, jobs, limit);
}

async function runSome(queue: string[], workers: number, limit: number): Promise<void> {
  const work = async () => {
    for (let file = queue.shift(); file && !stopping.signal.aborted; file = queue.shift()) {
      const { signal } = stopping;
      const result = await runTestFile(file, {
        ...{ root, env: process.env, timeout: limit, signal },
        onLine: (line) => onLine(String(file), line),
      });
      results.push(result);
      report(result);
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
}

/**
 * Runs the files that failed once more, alone: a test that waits for a deadline can fail beside others on a busy
 * machine. The second result replaces the first. Those on containers have been alone.
 */
async function runFailedAgain(): Promise<void> {
  const failedFiles = results
    .filter(({ file, failed }) => failed > 0 && kindOf(file) !== 'containers')
    .map(({ file }) => file);
  if (failedFiles.length === 0 || failedFiles.length > MAX_FILES_RUN_AGAIN) return;
  for (const file of failedFiles) failedOnce.add(file);
  process.stdout.write('\nAgain, alone:\n');
  const firstResults = results.splice(0);
  await runAll([...failedFiles], 1, options.full || options.nightly ? LONG_TIMEOUT_MS : timeout);
  const rerun = new Set(results.map(({ file }) => file));
  results.push(...firstResults.filter(({ file }) => !rerun.has(file)));
}

function report(result: FileResult): void {
  const { file, passed, failed, skipped, seconds, problems, output } = result;
  const counts = [`${passed} passed`];
  if (failed > 0) counts.push(`${failed} failed`);
  if (skipped > 0) counts.push(`${skipped} skipped`);
  const lines = [`${failed > 0 ? 'FAIL' : 'ok  '} ${file}: ${counts.join(', ')} (${seconds.toFixed(1)} s)`];
  if (failed > 0) {
    for (const problem of problems) lines.push(indent(`- ${indent(problem).trimStart()}`));
    if (output.trim() !== '') lines.push('  It wrote:', indent(indent(output.trimEnd())));
  }
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** Prints the slowest files, what was not run and, as the last line, the totals. Returns the exit status. */
function summarize(): number {
  const total = (pick: (result: FileResult) => number) =>
    results.reduce((sum, result) => sum + pick(result), 0);
  const passed = total((result) => result.passed);
  const failed = total((result) => result.failed);
  const skipped = total((result) => result.skipped);
  if (files.length === 0) process.stdout.write('No test file matches.\n');
  const slowest = results.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
  const times = slowest.map(({ file, seconds }) => `${seconds.toFixed(1).padStart(6)} s ${file}`);
  if (results.length > SLOWEST) process.stdout.write(`\nThe slowest:\n${indent(times.join('\n'))}\n`);
  // The order in which files end differs from run to run.
  results.sort((a, b) => (a.file < b.file ? -1 : 1));
  const notRun = results.flatMap((result) => result.notRun);
  if (notRun.length > 0) process.stdout.write(`\nNot run:\n${indent(notRun.join('\n'))}\n`);
  if (flakyFiles.length > 0)
    process.stdout.write(`\nFailed once, passed alone:\n${indent(flakyFiles.join('\n'))}\n`);
  process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped} skipped\n`);
  return failed === 0 && passed > 0 ? 0 : 1;
}
