import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stripVTControlCharacters } from 'node:util';
import { freePort, until } from '@gatehouse/testing/processes';
import t, { type Test } from 'tap';
import { temporaryDir } from './gatehouse.ts';

const MAIN = new URL('../src/main.ts', import.meta.url).pathname;

/** What the environment of the tests may hold, and would change what is printed. */
const WITHOUT = {
  MONGODB_URI: undefined,
  PUBLIC_URL: undefined,
  LOG_LEVEL: undefined,
  NO_COLOR: undefined,
  FORCE_COLOR: undefined,
  CI: undefined,
};

/** Runs it in a terminal of its own, until it is ready and Ctrl-C was pressed; what the terminal showed of it. */
async function shownBy(t: Test, env: Record<string, string>, awaited?: RegExp): Promise<string> {
  const child = spawn('script', ['-qefc', `exec '${process.execPath}' '${MAIN}'`, '/dev/null'], {
    env: { ...process.env, ...WITHOUT, TERM: 'xterm', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const closed = once(child, 'close');
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  await until(() => {
    if (child.exitCode !== null) throw new Error(`it ended:\n${output}`);
    return output.includes('shows every request');
  }, 30_000);
  await (await fetch(`http://127.0.0.1:${env.PORT}/nowhere`)).text();
  // A request is logged when its connection knows that the response is out.
  if (awaited !== undefined) await until(() => awaited.test(output), 5000);
  child.stdin.write('\x03');
  const [status] = await closed;
  t.equal(status, 0, 'Ctrl-C ends it');
  return output.replaceAll('\r\n', '\n');
}

t.test('in a terminal it prints for people', async (t) => {
  const env = { DATA_DIR: temporaryDir(t), PORT: String(await freePort()) };
  const quiet = await shownBy(t, env);
  t.match(
    stripVTControlCharacters(quiet),
    /^Starting Gatehouse…\nPreparing the database…\n\n {2}Gatehouse is ready at /,
  );
  t.match(quiet, '\x1b[1mGatehouse is ready at ', 'in bold');
  t.match(quiet, /shows every request\.\n\n\^C$/, 'and requests are not told');

  const request = /INFO.+request GET \/nowhere 404/;
  const talkative = await shownBy(t, { ...env, LOG_LEVEL: 'info' }, request);
  t.match(talkative, /INFO.+the local MongoDB is ready/);
  t.notMatch(talkative, 'Preparing the database', 'it is only the first time that this takes long');
  t.match(talkative, request);
  t.notMatch(talkative, /^\{/m, 'no JSON lines');
});
