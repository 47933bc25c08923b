// `node deploy/local/bootstrap.mjs [OPTIONS] SCRIPT [ARGS]` runs SCRIPT with Node 24, and its options, on a machine that may have
// only an older Node (18 or newer) and npm, and installs the dependencies first when they are missing.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const npx = ['npx', '-y', '--prefer-offline'];
const pnpm = 'pnpm@12.21.0';
const node24 = 'node@24.21.0'; // the release package.json names for Linux
const root = fileURLToPath(new URL('../..', import.meta.url));
const stampFile = join(root, 'node_modules/.install-stamp');
const lockFile = join(root, 'node_modules/.install-lock');
const major = Number.parseInt(process.versions.node, 10);
const passedAt = new Map();
let child;

if (major < 18) fail(`Node ${process.versions.node} is too old: install Node 18 or newer, best 24.`);
if (process.argv.length < 3) fail('Usage: node deploy/local/bootstrap.mjs [OPTIONS] SCRIPT [ARGS]');
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => passOn(signal));
const parent = process.ppid;
const watch = setInterval(() => {
  if (process.ppid === parent) return;
  clearInterval(watch); // npm or the shell above was killed with SIGKILL and could pass nothing on
  passOn('SIGTERM');
}, 250).unref();

// The lockfile names every dependency of every workspace package: the package.json files would add only
// needless installs. The platform counts because a container may share the tree with its host.
const hash = createHash('sha256').update(`${process.platform} ${process.arch}`);
for (const name of ['pnpm-lock.yaml', 'pnpm-workspace.yaml']) hash.update(readFileSync(join(root, name)));
const stamp = hash.digest('hex');
const isInstalled = () => existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp;
if (!isInstalled()) await install();

const node = findNode();
const PATH = [dirname(node), join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter);
// Compiled code is cached beside the dependencies, which halves the time of the next start. Where the directory
// cannot be written to, Node goes on without it.
const NODE_COMPILE_CACHE = process.env.NODE_COMPILE_CACHE ?? join(root, 'node_modules/.compile-cache');
const env = { ...process.env, PATH, NODE_COMPILE_CACHE };
// Detached: the keys of a terminal reach this process only, so one Ctrl-C comes to the child as one
// SIGINT, from here, and not also from the terminal. Through the 'ipc' channel, as the event
// 'disconnect', the child learns that this process was killed with SIGKILL.
const stdio = ['inherit', 'inherit', 'inherit', 'ipc'];
endLike(await run([node, ...process.argv.slice(2)], { env, stdio, detached: true }));

/** Installs under a lock, which its holder keeps touching so that a dead one cannot stop the others. */
async function install() {
  mkdirSync(dirname(lockFile), { recursive: true });
  for (let tries = 0; !takeLock(); tries++) {
    if (tries === 0) process.stderr.write('Waiting for another install to finish…\n');
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  let seconds = 0;
  const touch = setInterval(() => {
    if (existsSync(lockFile)) writeFileSync(lockFile, `${process.pid}`);
    seconds += 1;
    if (seconds % 10 === 0) process.stderr.write(`Still installing, after ${seconds} s…\n`);
  }, 1000);
  const result = isInstalled() ? { code: 0 } : await runPnpm();
  if (result.code === 0) writeFileSync(stampFile, stamp);
  clearInterval(touch);
  rmSync(lockFile, { force: true });
  const signal = result.signal ?? passedAt.keys().next().value;
  if (signal) endLike({ signal });
  const advice = 'If the registry was not reached, check the network (npm ping), then run this again.';
  if (result.code !== 0) fail(`${result.output}\nThe dependencies could not be installed. ${advice}`);
}

function takeLock() {
  try {
    writeFileSync(lockFile, `${process.pid}`, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  const touched = statSync(lockFile, { throwIfNoEntry: false })?.mtimeMs;
  if (touched < Date.now() - 15_000) rmSync(lockFile, { force: true });
  return false;
}

function runPnpm() {
  process.stderr.write('Installing dependencies (about 600 MB)…\n');
  // Nobody can be asked here whether a tree that another version or platform left may be replaced.
  const args = [pnpm, 'install', '--frozen-lockfile', '--config.confirm-modules-purge=false'];
  return run([...npx, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** The running Node, the packaged one (made for glibc, so it does not start on Alpine), or npm's. */
function findNode() {
  if (major >= 24) return process.execPath;
  const packaged = join(root, `node_modules/node-${process.platform}-${process.arch}/bin/node`);
  if (spawnSync(packaged, ['--version']).status === 0) return packaged;
  // npx is asked only where it is: were it the parent of the child, it would keep the channel to itself.
  const [command, ...options] = npx;
  const args = [...options, '-p', node24, 'node', '-p', 'process.execPath'];
  const found = spawnSync(command, args, { encoding: 'utf8' });
  if (found.status === 0) return found.stdout.trim();
  return fail('Node 24 is needed and npm has none that starts here: install it, then run this again.');
}

function run([command, ...args], options) {
  child = spawn(command, args, options);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk));
  return new Promise((resolve) => {
    child.once('error', (error) => {
      process.stderr.write(`${command} does not start: ${error.message}\n`);
      resolve({ code: 1, output });
    });
    child.once('close', (code, signal) => resolve({ code, signal, output }));
  });
}

/** Passes a signal on once, although npm and the terminal may each have sent it for one key press. */
function passOn(signal) {
  if (Date.now() - (passedAt.get(signal) ?? 0) < 1000) return;
  passedAt.set(signal, Date.now());
  if (!child?.kill(signal)) endLike({ signal });
}

/** Ends this process as the child ended: with its exit status, or by the same signal. */
function endLike({ code, signal }) {
  if (!signal) process.exit(code);
  process.exitCode = 128 + constants.signals[signal];
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

function fail(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}
