import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';

const MODULE = resolve(import.meta.dirname, '..');
const VECTORS = resolve(MODULE, '../verify/vectors');
const run = promisify(execFile);

/** Runs a command of Go, and returns what it printed; throws with that when it fails. */
async function go(command: string[], cwd = MODULE): Promise<string> {
  const [program = 'go', ...args] = command;
  const result = await run(program, args, { cwd, maxBuffer: 2 ** 26 }).catch(
    ({ stdout = '', stderr = '', message }) => {
      throw new Error([message, stderr, stdout].join('\n').slice(0, 5000));
    },
  );
  return result.stdout + result.stderr;
}

/** The reason why the tests cannot run here; false if they can. */
async function missing(): Promise<string | false> {
  try {
    await go(['go', 'mod', 'download']);
    return false;
  } catch (error) {
    return `needs Go and its modules: ${String(error).split('\n')[0]}`;
  }
}

const skip = await missing();
/** The race detector needs cgo, and a compilation of the standard library of its own: at night. */
const hasCgo = skip === false && (await go(['go', 'env', 'CGO_ENABLED'])).trim() === '1';
const race = hasCgo && process.env.GATEHOUSE_NIGHTLY_TESTS === '1' ? ['-race'] : [];

t.test('the Go package', { skip }, async (t) => {
  t.equal(await go(['gofmt', '-l', '.']), '', 'gofmt changes nothing');
  // One configuration for all, since each compiles the standard library.
  const output = await go(['go', 'test', '-vet=all', '-v', '-count=1', '-timeout=100s', ...race, './...']);
  t.match(output, /^ok\s/m);
  if (existsSync(VECTORS)) t.match(output, /\d{3,} vectors$/m);
  else t.comment(`no vectors in ${VECTORS}`);
});

t.test('the program in the README', { skip }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-go-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const readme = await readFile(join(MODULE, 'README.md'), 'utf8');
  const [, commands = ''] = /```sh\n(.*?)```/s.exec(readme) ?? [];
  const [, program = ''] = /```go\n(.*?)```/s.exec(readme) ?? [];
  const pasted = commands.replace('$HOME/gatehouse/packages/verify-go', MODULE);
  await go(['sh', '-euc', pasted], folder);
  const notes = join(folder, 'notes');
  await writeFile(join(notes, 'main.go'), program);
  await go(['go', 'mod', 'tidy'], notes);
  await go(['go', 'vet', ...race, '.'], notes);
  t.equal((await go(['gofmt', '-l', '.'], notes)).trim(), '');
});
