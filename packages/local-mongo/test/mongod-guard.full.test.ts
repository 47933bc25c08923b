// The guard with stand-ins for mongod that only live and die: it is processes that it deals in.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { becomes } from './fixture.ts';
import { isAlive, isGroupAlive, pidOf } from './processes.ts';

const GUARD = fileURLToPath(new URL('../src/mongod-guard.sh', import.meta.url));
const DEAF = ['sh', '-c', 'trap "" TERM; echo ready >&2; while :; do sleep 0.2; done'];
const STATUS_7 = ['sh', '-c', 'trap "exit 7" TERM; echo ready >&2; while :; do sleep 0.1; done'];

async function startGuard(
  t: Test,
  program: readonly string[],
): Promise<{ guard: ChildProcess; pid: number }> {
  const guard = spawn('sh', [GUARD, ...program], { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  t.teardown(() => {
    if (isGroupAlive(guard.pid)) process.kill(-pidOf(guard), 'SIGKILL');
  });
  const [line] = await once(createInterface({ input: guard.stdout }), 'line');
  if (program[0] === 'sh') await once(guard.stderr, 'data');
  return { guard, pid: Number(line) };
}

t.test('the program ends when standard input closes', async (t) => {
  const { guard, pid } = await startGuard(t, ['sleep', '1000']);
  t.ok(isAlive(pid));
  guard.stdin?.end();
  t.same(await once(guard, 'exit'), [128 + 15, null]);
  t.notOk(isAlive(pid));
  t.ok(await becomes(() => !isGroupAlive(guard.pid), 1_000), 'nothing is left');
});

t.test('a program that ignores SIGTERM is killed within two seconds', async (t) => {
  const { guard, pid } = await startGuard(t, DEAF);
  guard.stdin?.end();
  t.ok(await becomes(() => !isAlive(pid), 2_500));
});

t.test('kill -9 of the guard: the program still ends with standard input', async (t) => {
  const { guard, pid } = await startGuard(t, ['sleep', '1000']);
  guard.kill('SIGKILL');
  await once(guard, 'exit');
  // Node closes the pipe of a child that is gone.
  t.ok(await becomes(() => !isAlive(pid), 2_000));
});

t.test('SIGTERM is passed on, and the exit status is the program’s', async (t) => {
  const { guard, pid } = await startGuard(t, STATUS_7);
  guard.kill('SIGTERM');
  t.same(await once(guard, 'exit'), [7, null]);
  t.notOk(isAlive(pid));
});

t.test('a program that ends by itself leaves nothing behind', async (t) => {
  const { guard } = await startGuard(t, ['sleep', '0.2']);
  t.same(await once(guard, 'exit'), [0, null]);
  t.ok(await becomes(() => !isGroupAlive(guard.pid), 1_000));
});

t.test('SIGINT and SIGHUP are left to the parent', async (t) => {
  const { guard, pid } = await startGuard(t, ['sleep', '1000']);
  guard.kill('SIGINT');
  guard.kill('SIGHUP');
  t.notOk(await becomes(() => !isAlive(pid) || guard.exitCode !== null, 300));
});
