import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createCommandLine } from '@gatehouse/testing/command-line';
import { jsonRequest, loginToken } from '@gatehouse/testing/json-request';
import { freePort, until } from '@gatehouse/testing/processes';
import t from 'tap';
import { type Gatehouse, startGatehouse, temporaryDir, tokenOf } from './gatehouse.ts';

const dataDir = temporaryDir(t);
// It starts everything twice, and a process for each command.
t.setTimeout(180_000);

/** `gatehouse jobs` as the admin of a deployment, or with another token. */
async function jobsOf({ base, demo }: Gatehouse, token?: string) {
  const env = { GATEHOUSE_TOKEN: token ?? (await loginToken(base, demo.admin)) };
  const { run } = createCommandLine(base, dataDir, { env });
  return (...args: string[]) => run(['jobs', ...args]);
}

t.test('the configured mail server of npm start is used, and its failures show', async (t) => {
  const own = temporaryDir(t);
  const gatehouse = await startGatehouse(t, own, {
    NOTIFICATIONS_SMTP_URL: `smtp://127.0.0.1:${await freePort()}`,
    NOTIFICATIONS_MAIL_FROM: 'no-reply@example.org',
  });
  t.match(gatehouse.output(), /mails of notifications are sent/);
  for (let i = 0; i < 6; i += 1) await send(gatehouse, 'This waits for the mail server.');
  const metrics = async () => (await fetch(`${gatehouse.base}/metrics`)).text();
  for (const name of ['lane_failing', 'jobs_oldest_seconds', 'job_attempts_total']) {
    const above0 = new RegExp(`^gatehouse_${name}\\{.*lane="email".* (?!0$)`, 'm');
    await until(async () => above0.test(await metrics()), 20_000);
  }
  t.match(await metrics(), /lane="email",outcome="postponed"/);
  const jobs = await jobsOf(gatehouse);
  t.match(await jobs(), { stdout: /messages +email +failing .*since 2.*The mail server cannot be reached/ });
  t.same(captured('This waits', own), [], 'nothing is kept instead');
  await gatehouse.end();
});

async function send(gatehouse: Gatehouse, message: string): Promise<string> {
  const sent = { user_id: gatehouse.demo.user.user_id, message, type: 'email' };
  const url = `${gatehouse.base}/v2/notifications`;
  const { status, body } = await jsonRequest('POST', url, { token: await tokenOf(gatehouse), body: sent });
  t.equal(status, 202);
  return String(body.id);
}

const captured = (id: string, dir = dataDir) =>
  readdirSync(join(dir, 'outbox'), { recursive: true, encoding: 'utf8' })
    // A file has a dot before its name while it is written.
    .filter((name) => !basename(name).startsWith('.'))
    .map((name) => readFileSync(join(dir, 'outbox', name), 'utf8'))
    .filter((text) => text.includes(id));

t.test('gatehouse jobs manages the queues, and jobs survive kill -9', async (t) => {
  const first = await startGatehouse(t, dataDir);
  t.match(first.output(), /Messages .*outbox/);
  let jobs = await jobsOf(first);
  t.match(await jobs(), {
    status: 0,
    stdout: /QUEUE +LANE.*IN PROGRESS.*\nmessages +email +running(?:.*\n)*There are no dead letters/,
  });
  t.match(await jobs('pause', 'messages', 'email'), { status: 0, stdout: 'messages email is paused.\n' });
  const id = await send(first, 'To be captured after a kill.');
  t.match(await jobs('list'), { stdout: /messages +email +paused +[01] +[01] / });
  await first.end('SIGKILL');

  const second = await startGatehouse(t, dataDir);
  jobs = await jobsOf(second);
  t.match(await jobs('list'), { stdout: /messages +email +paused/ });
  t.same(captured(id), [], 'a lane that was paused stays so');
  t.match(await jobs('resume', 'messages', 'email'), { status: 0 });
  await until(() => captured(id).length > 0, 20_000);
  t.match(captured(id), [/^To: demo@example\.com\n/]);
  t.ok(readdirSync(join(dataDir, 'outbox')).some((name) => /Z-email_\w+\.txt$/.test(name)));

  const commands: [
    args: string[],
    ended: { status: number; stdout: string | RegExp; stderr: string | RegExp },
  ][] = [
    [['show', 'ntf_a'], { status: 1, stdout: '', stderr: 'There is no such dead letter.\n' }],
    [
      ['replay', 'ntf_a-1'],
      { status: 1, stdout: '0 replayed.\n', stderr: /^There is no dead letter ntf_a-1\./ },
    ],
    [
      ['purge', 'ntf_a-1', 'ntf_b-1'],
      { status: 1, stdout: '0 removed.\n', stderr: /no dead letter ntf_a-1, ntf_b-1\./ },
    ],
    [['replay', '--all'], { status: 0, stdout: '0 replayed.\n', stderr: '' }],
    [['purge', '--queue', 'messages', '--lane', 'email'], { status: 0, stdout: '0 removed.\n', stderr: '' }],
    [['purge', '--queue', 'letters'], { status: 1, stdout: '', stderr: 'There is no such queue.\n' }],
    [['purge', 'ntf_a-1', '--queue', 'messages'], { status: 2, stdout: '', stderr: /^Name the ids/ }],
    [['pause', 'messages', 'fax'], { status: 1, stdout: '', stderr: 'There is no such lane.\n' }],
    [['list', '--help'], { status: 0, stdout: /OLDEST +the age/, stderr: '' }],
  ];
  for (const [args, ended] of commands) t.match(await jobs(...args), ended, args.join(' '));
  const machine = await jobsOf(second, await tokenOf(second));
  t.match(await machine(), { status: 1, stdout: '', stderr: 'This is for admins.\n' });
  await second.end();
});
