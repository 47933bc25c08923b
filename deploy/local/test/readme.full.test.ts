import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { freePort, until } from '@gatehouse/testing/processes';
import t from 'tap';
import { temporaryDir } from './gatehouse.ts';

const ROOT = new URL('../../..', import.meta.url).pathname;
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
const blocks = [...readme.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block.trim());

// Longer than any file of the quick tests: it installs everything into an empty home.
t.setTimeout(300_000);

/** The files of the working tree that are or would be committed, in a directory of their own. */
function checkout(directory: string): void {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
  });
  for (const file of listed.toString().split('\0').filter(Boolean)) {
    mkdirSync(dirname(join(directory, file)), { recursive: true });
    cpSync(join(ROOT, file), join(directory, file));
  }
}

t.test('the README on a clean checkout with an empty home: every command as pasted', async (t) => {
  const home = temporaryDir(t);
  const tree = temporaryDir(t);
  checkout(tree);
  const port = await freePort();
  const env = {
    PATH: process.env.PATH?.split(':')
      .filter((part) => !part.startsWith(join(ROOT, 'node_modules')))
      .join(':'),
    HOME: home,
    PORT: String(port),
    ...(process.env.NODE_EXTRA_CA_CERTS === undefined
      ? {}
      : { NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS }),
  };
  // The port is the one thing that differs from what a reader pastes: 3000 may be in use.
  const ported = (command: string) => command.replaceAll('localhost:3000', `localhost:${port}`);
  const shell = (script: string) =>
    execFileSync('bash', ['-ec', script], { cwd: tree, env, encoding: 'utf8' });

  const [start, ...rest] = blocks;
  t.equal(start, 'npm start');
  const first = await readyIn(t, start ?? '', tree, env);
  t.comment(`the first start was ready in ${first.seconds.toFixed(1)} s`);
  t.ok(first.seconds < 60, 'the first start is ready in under 60 s');

  const ownTests = rest.filter((block) => block.includes('npm'));
  const scripts = Object.keys(JSON.parse(readFileSync(join(tree, 'package.json'), 'utf8')).scripts);
  for (const command of ownTests.flatMap((block) => block.split('\n'))) {
    // Those run this very test: here it is enough that they exist.
    t.ok(scripts.includes(command.replace(/^npm (run )?/, '').replace(/ -- .*/, '')), command);
  }

  const commands = rest.filter((block) => !block.includes('npm'));
  const output = shell(commands.map((block) => `${ported(block)}\necho`).join('\n'));
  const answers = output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
  t.match(answers[0], { access_token: /^ey/, token_type: 'Bearer', expires_in: 3600 });
  t.match(answers[1], { id: /^usr_/, username: 'ann', email: 'ann@example.org' });
  t.match(answers[2], { data: [{ username: 'admin' }, { username: 'demo' }, { username: 'ann' }] });
  t.match(answers[3], {
    data: [{ status: 'active' }, { status: 'active' }],
    links: { next: /^\/v2\/users\?.*cursor=/ },
    meta: { totalItems: 3, hasNextPage: true },
  });
  t.match(answers[4], { id: /^itm_/, message: 'Item created.' });
  t.match(answers[5], {
    data: [{ id: answers[4].id, name: 'colours', value: { wall: ['red', 'blue'], price: 12.5 } }],
    meta: { totalItems: 1, hasNextPage: false },
  });
  t.match(answers[6], { id: /^prd_/, name: 'Green tea', price: 12.5, stock: 40 });
  t.match(answers[7], { data: [{ id: answers[6].id }], facets: { category: [{ value: 'Tea', count: 1 }] } });
  t.match(answers[8], { token: /^ey/, user_id: /^usr_/ });
  t.match(answers[9], { client_id: /^app_/, client_secret: String, name: 'My shop', type: 'web' });
  t.match(answers[10], { data: [{ username: 'admin' }] });
  t.equal(answers.length, 11);
  for (const command of ['keys:rotate', 'keys:rotate -- --compromised']) {
    t.match(shell(`npm run --silent ${command}`), /^ES256: key_.*^RS256: key_/ms, command);
  }
  await first.end();

  // The best of three: a machine that tests run on is busy with other things at times.
  const later: number[] = [];
  while (later.length < 3 && !later.some((seconds) => seconds < 3)) {
    const again = await readyIn(t, 'npm start', tree, env);
    later.push(again.seconds);
    await again.end();
  }
  t.comment(`later starts were ready in ${later.map((seconds) => seconds.toFixed(1)).join(', ')} s`);
  t.ok(Math.min(...later) < 3, 'a later start is ready in under 3 s');
  t.match(shell('npm run --silent reset'), /^Removed .*\.data/);
});

async function readyIn(
  t: { teardown(fn: () => unknown): void },
  command: string,
  cwd: string,
  env: Record<string, string | undefined>,
): Promise<{ seconds: number; end(): Promise<void> }> {
  const begin = performance.now();
  const child: ChildProcess = spawn('bash', ['-c', `exec ${command}`], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const gone = once(child, 'exit');
  t.teardown(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  await until(() => {
    if (child.exitCode !== null) throw new Error(`it ended:\n${output}`);
    return output.includes('is ready at');
  }, 180_000);
  return {
    seconds: (performance.now() - begin) / 1000,
    async end() {
      child.kill('SIGTERM');
      await gone;
    },
  };
}
