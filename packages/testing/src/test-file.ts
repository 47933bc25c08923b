import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { Base } from 'tap';

/** The result of one test file. The numbers are assertions, counted by tap over all levels of subtests. */
export type FileResult = {
  file: string;
  passed: number;
  failed: number;
  skipped: number;
  seconds: number;
  /** One text per failure, of one or more lines; empty when nothing failed. */
  problems: string[];
  /** The output of the file besides TAP; only the end when it is long. */
  output: string;
  /** One line per test that was skipped, with its reason. */
  notRun: string[];
};

type Failure = Base['lists']['fail'][number];

const REPEATED = new Set(['source', 'test', 'handles', 'requests']);
const NO_TESTS = 'no tests found';
/** The file's own timer, which can name the subtest that hangs, goes off first. */
const TIMEOUT_GRACE_MS = 1000;
const DUMP_MS = 500;
const LEFT_BEHIND_MS = 1000;
const TERM_GRACE_MS = 2000;
const MAX_OUTPUT = 8000;

/**
 * Runs one test file in its own process and reads its TAP. However the file ends, there is a result.
 *
 * tap's own t.spawn would preload a module for coverage into every process that the test starts, even into
 * servers that are being measured, and write a file to .tap for each of them.
 *
 * @param file its path, relative to `root`
 * @param options.args what Node runs instead of the file
 * @param options.timeout in ms, for the whole file
 * @param options.signal aborting it ends the file's processes
 * @param options.onLine called with each line of TAP, at once
 */
export async function runTestFile(
  file: string,
  options: {
    root: string;
    env: NodeJS.ProcessEnv;
    args?: readonly string[];
    timeout: number;
    signal: AbortSignal;
    onLine(line: string): void;
  },
): Promise<FileResult> {
  const startedAt = performance.now();
  const tally = new Base({ name: file });
  tally.resume();
  // In its own process group, so that whatever a test leaves running can be ended with it.
  const child = spawn(process.execPath, [...(options.args ?? [file])], {
    cwd: options.root,
    env: { ...options.env, TAP_TIMEOUT: String(options.timeout / 1000) },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  const keep = (text: string) => {
    output = (output + text).slice(-MAX_OUTPUT);
  };
  tally.parser.on('extra', keep);
  child.stdout.setEncoding('utf8').on('data', (text: string) => tally.parser.write(text));
  createInterface({ input: child.stdout }).on('line', options.onLine);
  child.stderr.setEncoding('utf8').on('data', keep);

  const closed = once(child, 'close');
  const end = () => endGroup(child.pid);
  let timedOut = false;
  const limit = setTimeout(() => {
    timedOut = true;
    child.kill('SIGALRM'); // tap then names what keeps the process alive
    setTimeout(end, DUMP_MS);
  }, options.timeout + TIMEOUT_GRACE_MS);
  options.signal.addEventListener('abort', end);

  const [code, signal] = await once(child, 'exit');
  clearTimeout(limit);
  options.signal.removeEventListener('abort', end);
  // A process that outlives the test may hold the pipes open for ever.
  await Promise.race([closed, sleep(LEFT_BEHIND_MS, undefined, { ref: false })]);
  await end();
  child.stdout.destroy();
  child.stderr.destroy();
  await closed;
  if (!tally.results) tally.parser.end();

  const { counts, lists, results } = tally;
  const problems = lists.fail.map((failure) => describeFailure(failure, file));
  for (const failure of results?.failures ?? []) {
    if (failure.tapError) problems.push(`${failure.name ?? 'TAP'}: ${failure.tapError}`);
  }
  const reason = counts.total === 0 ? results?.plan.skipReason : undefined;
  const skippedWhole = reason !== undefined && reason !== '' && reason !== NO_TESTS;
  if (results?.bailout) problems.push(`Bail out! ${results.bailout}`);
  if (timedOut) problems.push(`It did not end within ${options.timeout / 1000} s.`);
  else if (signal) problems.push(`It was ended by ${signal}.`);
  else if (code !== 0 && problems.length === 0) problems.push(`It ended with exit status ${code}.`);
  if (counts.total === 0 && !skippedWhole) problems.push('It ran no assertion.');
  if (!results?.ok && problems.length === 0) problems.push('Its TAP is not complete.');

  const notRun = skipsIn(lists, file);
  if (skippedWhole) notRun.push(`${file}: ${reason}`);
  return {
    file,
    passed: counts.pass,
    failed: Math.max(counts.fail, problems.length > 0 ? 1 : 0),
    skipped: counts.skip + counts.todo + (skippedWhole ? 1 : 0),
    seconds: (performance.now() - startedAt) / 1000,
    problems,
    output,
    notRun,
  };
}

/** One line for each test that was skipped, with its reason. */
export function skipsIn({ skip, todo }: Base['lists'], file: string): string[] {
  return [...skip, ...todo].map((it) => {
    const why = [it.skip, it.todo].find((value) => typeof value === 'string') ?? 'no reason given';
    return `${file}: ${shortName(it, file)}: ${why}`;
  });
}

/** Ends a process group, by SIGTERM first: a server under test may have to end processes of its own. */
async function endGroup(leader: number | undefined): Promise<void> {
  const until = performance.now() + TERM_GRACE_MS;
  let isAlive = signalGroup(leader, 'SIGTERM');
  while (isAlive && performance.now() < until) {
    await sleep(50);
    isAlive = signalGroup(leader, 0);
  }
  if (isAlive) signalGroup(leader, 'SIGKILL');
}

function signalGroup(leader: number | undefined, signal: NodeJS.Signals | 0): boolean {
  try {
    return leader !== undefined && process.kill(-leader, signal);
  } catch {
    return false;
  }
}

function describeFailure(failure: Failure, file: string): string {
  const { at, ...details } = failure.diag ?? {};
  const lines = [shortName(failure, file)];
  if (at?.fileName) lines.push(`at ${at.fileName}:${at.lineNumber}:${at.columnNumber}`);
  for (const [key, value] of Object.entries(details)) {
    // The place is printed above, tap itself prints open handles, and a diff needs no stack.
    if (value === null || REPEATED.has(key) || (key === 'stack' && 'diff' in details)) continue;
    const text = typeof value === 'string' ? value.trimEnd() : inspect(value, { depth: 6 });
    lines.push(text.includes('\n') ? `${key}:\n${indent(text)}` : `${key}: ${text}`);
  }
  return lines.join('\n');
}

function shortName(result: Failure, file: string): string {
  return result.fullname.replace(`${file} > `, '') || 'unnamed test';
}

/** Indents every line by two spaces. */
export function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}
