import { spawn, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort, until } from '@gatehouse/testing/processes';
import t from 'tap';
import { fileIn, stepsOf } from './document.ts';
import { temporaryDir } from './gatehouse.ts';

// The receiver of docs/guides/webhooks.md, which people copy.

const GUIDE = readFileSync(new URL('../../../docs/guides/webhooks.md', import.meta.url), 'utf8');
const key = Buffer.from('a key of the test, 32 bytes long');
const HOOK_PORT = String(await freePort());

const file = join(temporaryDir(t), 'receiver.mjs');
writeFileSync(file, fileIn(GUIDE, 'receiver.mjs'));
const receiver = spawn(process.execPath, [file], {
  env: { SECRET: `whsec_${key.toString('base64')}`, HOOK_PORT },
  stdio: ['ignore', 'pipe', 'inherit'],
});
t.teardown(() => receiver.kill());

const post = async (headers: Record<string, string>, body: string) =>
  (await fetch(`http://127.0.0.1:${HOOK_PORT}/`, { method: 'POST', headers, body })).status;
const now = () => String(Math.floor(Date.now() / 1000));
function signed(body: string, at = now()): Record<string, string> {
  const signature = createHmac('sha256', key).update(`evt_1.${at}.${body}`).digest('base64');
  return { 'webhook-id': 'evt_1', 'webhook-timestamp': at, 'webhook-signature': `v1,${signature}` };
}
const TEST = JSON.stringify({ type: 'webhook.test' });

await until(
  () =>
    post({}, TEST).then(
      () => true,
      () => false,
    ),
  10_000,
);

t.test('a request that is not signed, or not with this secret and a recent time, gets 401', async (t) => {
  const right = signed(TEST);
  const { 'webhook-signature': signature = '', ...unsigned } = right;
  for (const [name, headers] of [
    ['no headers', {}],
    ['no signature', unsigned],
    ['no time', { 'webhook-id': 'evt_1', 'webhook-signature': signature }],
    ['another body', signed(`${TEST} `)],
    ['a signature that is none', { ...right, 'webhook-signature': 'v1' }],
    ['an old time', signed(TEST, String(Number(now()) - 600))],
    ['a time that is none', signed(TEST, 'today')],
    ['a time that is missing, as it would be written', signed(TEST, 'undefined')],
  ] as const) {
    t.equal(await post(headers, TEST), 401, name);
  }
});

t.test('a request that is cut off does not end it', async (t) => {
  const socket = connect(Number(HOOK_PORT), '127.0.0.1');
  await once(socket, 'connect');
  socket.write('POST / HTTP/1.1\r\nhost: receiver\r\ncontent-length: 100\r\n\r\n{');
  socket.destroy();
  t.equal(await post(signed(TEST), TEST), 204);
});

t.test('it prints the types of events, and ends after the first that is no test', async (t) => {
  const gone = once(receiver, 'exit');
  const printed = receiver.stdout.setEncoding('utf8').toArray();
  const created = JSON.stringify({ type: 'user.created' });
  t.equal(await post({ ...signed(created), connection: 'close' }, created), 204);
  t.strictSame(await gone, [0, null]);
  t.strictSame((await printed).join('').split('\n'), ['webhook.test', 'user.created', '']);
});

t.test('outside the clone, and without npm start, the commands before it say so', async (t) => {
  const [{ block } = { block: { text: '' } }] = stepsOf(GUIDE);
  const cwd = temporaryDir(t);
  const run = () => {
    const { stdout, stderr } = spawnSync('bash', ['-c', block.text], { cwd, encoding: 'utf8' });
    return stderr + stdout;
  };
  const sentence = 'Run this in the folder of your clone, while npm start runs.\n$';
  t.match(run(), new RegExp(`^ls: .*demo\\.json.*\\n${sentence}`));
  mkdirSync(join(cwd, '.data'));
  const nothing = `http://127.0.0.1:${await freePort()}`;
  writeFileSync(join(cwd, '.data/demo.json'), JSON.stringify({ base_url: nothing, admin: {} }));
  t.match(run(), new RegExp(`^curl: .* connect.*\\n${sentence}`));
});
