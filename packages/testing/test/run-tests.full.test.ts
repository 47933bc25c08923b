import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import t from 'tap';

const RUNNER = join(import.meta.dirname, '../src/run-tests.ts');
const FIXTURES = join(import.meta.dirname, 'fixtures');

t.jobs = 3;
/** A new object each time: tap keeps a test's output in the options it was given. */
const parallel = () => ({ buffered: true });

type Run = { status: number; output: string; lastLine: string };

function start(args: string[], env: NodeJS.ProcessEnv = {}, ipc = false): ChildProcess {
  return spawn(process.execPath, [RUNNER, '--root', FIXTURES, ...args], {
    env: { ...process.env, GATEHOUSE_TEST_MONGODB_URI: 'mongodb://unused/?x', JOBS: '4', ...env },
    stdio: ['ignore', 'pipe', 'inherit', ipc ? 'ipc' : 'ignore'],
  });
}

async function finish(runner: ChildProcess): Promise<Run> {
  let output = '';
  runner.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  // Not 'close', which does not come after disconnect().
  const [[status]] = await Promise.all([once(runner, 'exit'), runner.stdout && once(runner.stdout, 'end')]);
  return { status, output, lastLine: output.trimEnd().split('\n').at(-1) ?? '' };
}

const run = (args: string[], env?: NodeJS.ProcessEnv) => finish(start(args, env));

async function waitFor<T>(read: () => T | undefined | false): Promise<T> {
  for (let tries = 0; tries < 200; tries++) {
    const value = read();
    if (value) return value;
    await setTimeout(50);
  }
  throw new Error('waited 10 s in vain');
}

const readPid = (file: string) => waitFor(() => existsSync(file) && Number(readFileSync(file, 'utf8')));

/** Zombies, which wait for a container's first process to reap them, count as gone. */
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
}

/** What the line of each fixture says, and what is below it. */
const REPORTS: [file: string, counts: string, says?: RegExp][] = [
  ['passes', '3 passed'],
  ['fails', '1 passed, 2 failed', /- compares > the colour is right\n {4}at packages.+fails\.test\.ts:5:5/],
  ['fails', '1 passed, 2 failed', /- {2}"colour": "green",\n.+\+ {2}"colour": "red"/],
  ['fails', '1 passed, 2 failed', /a thrown error[\s\S]+It wrote:\n.+to standard error/],
  ['crashes', '0 passed, 1 failed', /exit status 1[\s\S]+Error: a crash at import/],
  ['exits-before-any', '0 passed, 1 failed', /It ran no assertion/],
  ['exits-within', '1 passed, 1 failed', /is cut short > test unfinished/],
  ['exits-non-zero', '1 passed, 1 failed', /exit status 3/],
  ['has-no-test', '0 passed, 1 failed', /It ran no assertion/],
  ['killed', '1 passed, 1 failed', /ended by SIGKILL/],
  ['hangs', '1 passed, 1 failed', /never ends > timeout![\s\S]+did not end within 4 s/],
  ['hangs-busy', '1 passed, 1 failed', /did not end within 4 s/],
  ['leaves-handle', '1 passed, 1 failed', /did not end within 4 s/],
  ['leaves-process', '1 passed'],
  ['skips', '1 passed, 2 skipped'],
  ['skips-all', '0 passed, 1 skipped'],
  ['uses-mongo', '4 passed'],
];

t.test('reports every way a file can end', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gh-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const PID_FILE = join(directory, 'pid');
  const TMPDIR = join(directory, 'tmp');
  mkdirSync(TMPDIR);
  const env = { GATEHOUSE_TEST_MONGODB_URI: '', IN_A_RUN: 'yes', TMPDIR, PID_FILE };
  const result = await run(['--timeout', '4'], env);

  const blocks = result.output.split(/^(?=ok |FAIL |Not run)/m);
  for (const [file, counts, says] of REPORTS) {
    const block = blocks.find((text) => text.includes(`/${file}.test.ts: `)) ?? '';
    t.ok(block.includes(`.test.ts: ${counts} (`), `${file}: ${counts}`, { block });
    t.equal(block.startsWith('FAIL'), counts.includes('failed'));
    if (says) t.match(block, says);
  }
  t.equal(result.lastLine, '17 passed, 11 failed, 3 skipped');
  t.equal(result.status, 1);
  t.match(result.output, /The slowest:\n(?: {2,}\d+\.\d s packages\/\S+\n){10}\n/);
  t.match(result.output, /Not run:\n {2}packages.+skips-all\.test\.ts: nothing here can run/);
  t.match(result.output, /skips\.test\.ts: in a browser: no Chromium on this machine\n/);
  t.match(result.output, /skips\.test\.ts: inside > with a server: no nats-server\n\n17 passed/);
  const leftRunning = await readPid(PID_FILE);
  t.ok(await waitFor(() => isGone(leftRunning)), 'ends what a file leaves running');
  t.same(readdirSync(TMPDIR), [], 'removes the data of its MongoDB');
});

t.test('without Docker, tests on containers are not run, and that is no failure', parallel(), async (t) => {
  const { status, output } = await run(['--containers'], { DOCKER_HOST: 'tcp://127.0.0.1:9' });
  t.match(output, /^Not run in containers\. No Docker daemon answers: .+\n$/);
  t.equal(status, 0);
});

const TOTALS: [patterns: string[], lastLine: string, status: number][] = [
  [['passes'], '3 passed, 0 failed, 0 skipped', 0],
  [['skips.', 'load'], '1 passed, 0 failed, 2 skipped', 0],
  [['skips.', 'load', 'volume', '--full'], '2 passed, 0 failed, 2 skipped', 0],
  [['skips.', 'load', 'volume', '--nightly'], '3 passed, 0 failed, 2 skipped', 0],
  [['passes', 'crashes'], '3 passed, 1 failed, 0 skipped', 1],
  [['skips-all'], '0 passed, 0 failed, 1 skipped', 1],
  [['no such file'], '0 passed, 0 failed, 0 skipped', 1],
];

for (const [patterns, lastLine, status] of TOTALS) {
  t.test(`${patterns.join(' ')} exits with ${status}`, parallel(), async (t) => {
    const result = await run(patterns);
    t.equal(result.lastLine, lastLine);
    t.equal(result.status, status);
  });
}

t.test('a file that fails runs once more and is named when it then passes', parallel(), async (t) => {
  const result = await run(['flaky'], { FAILED_ONCE_FILE: join(t.testdir(), 'failed') });
  t.match(
    result.output,
    /^FAIL .+flaky[\s\S]+Again, alone:\nok .+flaky[\s\S]+passed alone:\n.+flaky\.test\.ts/m,
  );
  t.equal(result.lastLine, '1 passed, 0 failed, 0 skipped');
  t.equal(result.status, 0);
});

t.test('a nightly test says what it measured', parallel(), async (t) => {
  const { output } = await run(['volume', '--nightly']);
  t.match(output, /^ {5}took 5 ms\nok /);
});

t.test('files that share a process are counted one by one', parallel(), async (t) => {
  const { output, lastLine } = await run(['passes', 'skips.']);
  t.match(output, /^ok {3}\S+\/passes\.test\.ts: 3 passed \(/m);
  t.match(output, /^ok {3}\S+\/skips\.test\.ts: 1 passed, 2 skipped \(/m);
  t.match(output, /\/skips\.test\.ts: inside > with a server: no nats-server\n/);
  t.equal(lastLine, '4 passed, 0 failed, 2 skipped');
});

t.test('the files in a fixtures folder are data', parallel(), async (t) => {
  const result = await run(['fixtures', '--root', join(import.meta.dirname, '../../..')]);
  t.match(result.output, /No test file matches/);
});

const STOPS: [name: string, stop: (runner: ChildProcess) => void, status: number][] = [
  ['SIGINT', (runner) => runner.kill('SIGINT'), 130],
  ['SIGTERM', (runner) => runner.kill('SIGTERM'), 143],
  ['the end of the process above', (runner) => runner.disconnect(), 143],
];

for (const [name, stop, status] of STOPS) {
  t.test(`${name} ends the files under test and the run`, parallel(), async (t) => {
    const BUSY_PID_FILE = join(t.testdir(), 'pid');
    const runner = start(['hangs-busy', 'passes'], { BUSY_PID_FILE, JOBS: '1' }, true);
    const ended = finish(runner);
    const pid = await readPid(BUSY_PID_FILE);
    stop(runner);
    const result = await ended;
    t.equal(result.status, status);
    t.ok(isGone(pid));
    t.notMatch(result.output, /passes/, 'and no further file is begun');
  });
}

t.test('says why there is no MongoDB, in the files that need one', parallel(), async (t) => {
  const nowhere = { GATEHOUSE_TEST_MONGODB_URI: '', GATEHOUSE_MONGO: 'uri' };
  const result = await run(['uses-mongo', 'passes'], nowhere);
  t.equal(result.lastLine, '3 passed, 1 failed, 0 skipped');
  t.match(result.output, /^No MongoDB for the tests/);
  t.match(result.output, /gets databases > No MongoDB could be started/);
});
