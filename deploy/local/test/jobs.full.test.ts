import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { jsonRequest, loginToken } from '@gatehouse/testing/json-request';
import { freePort, spawnNode, until } from '@gatehouse/testing/processes';
import t from 'tap';
import { type Gatehouse, startGatehouse, temporaryDir, tokenOf } from './gatehouse.ts';

const JOBS = new URL('../src/jobs.ts', import.meta.url).pathname;
const dataDir = temporaryDir(t);
// It starts everything twice, and a process for each command.
t.setTimeout(180_000);

/** What `npm run jobs -- …args` prints, and its status. */
async function jobs(args: string[], env: Record<string, string> = {}) {
  const { child, ended, output } = spawnNode([JOBS, ...args], { DATA_DIR: dataDir, ...env });
  await ended;
  return { status: child.exitCode, output: output() };
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
  t.match(
    (await jobs([], { DATA_DIR: own })).output,
    /messages email fails since .*The mail server cannot be reached/,
  );
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
  readdirSync(join(dir, 'outbox'), { recursive: true })
    .map((name) => readFileSync(join(dir, 'outbox', String(name)), 'utf8'))
    .filter((text) => text.includes(id));

t.test('npm run jobs steers npm start, whose jobs survive kill -9', async (t) => {
  t.match(await jobs(['list'], { DATA_DIR: join(dataDir, 'other') }), { status: 1, output: /has not run/ });
  const first = await startGatehouse(t, dataDir);
  t.match(first.output(), /Messages .*outbox/);
  t.match(await jobs([]), {
    status: 0,
    output: /QUEUE LANE.*IN PROGRESS.*\nmessages email +running(?:.*\n)*There are no dead letters/,
  });

  t.match(await jobs(['pause', 'messages', 'email']), { status: 0, output: 'messages email is paused.\n' });
  const id = await send(first, 'To be captured after a kill.');
  t.match((await jobs(['list'])).output, /messages email +paused +[01] +[01] /);
  await first.end('SIGKILL');

  const second = await startGatehouse(t, dataDir);
  t.match((await jobs(['list'])).output, /messages email +paused/);
  t.same(captured(id), [], 'a lane that was paused stays so');
  t.match(await jobs(['resume', 'messages', 'email']), { status: 0 });
  await until(() => captured(id).length > 0, 20_000);
  t.match(captured(id), [/^To: demo@example\.com\n/]);
  t.ok(readdirSync(join(dataDir, 'outbox')).some((name) => /Z-email_\w+\.txt$/.test(name)));

  t.match(await jobs(['show', 'ntf_unknown']), {
    status: 1,
    output: /^There is no dead letter ntf_unknown\. list shows their ids/,
  });
  t.match(await jobs(['replay', 'ntf_unknown-1']), {
    status: 1,
    output: /^0 replayed\. There is no dead letter ntf_unknown-1\./,
  });
  t.match(await jobs(['purge', 'ntf_a-1', 'ntf_b-1']), {
    status: 1,
    output: /^0 removed\. There is no dead letter ntf_a-1, ntf_b-1\./,
  });
  t.match(await jobs(['replay', '--all']), { output: '0 replayed.\n' });
  t.match(await jobs(['purge', 'messages', 'email']), { output: '0 removed.\n' });
  t.match(await jobs(['purge', 'letters']), {
    status: 1,
    output: 'There is no queue letters. The queues are: messages, reports, webhooks, replays.\n',
  });
  t.match(await jobs(['pause', 'messages', 'fax']), {
    status: 1,
    output: 'messages has no lane fax. Its lanes are: email, sms, push.\n',
  });
  const elsewhere = { GATEHOUSE_URL: second.base, GATEHOUSE_TOKEN: await tokenOf(second) };
  t.match(
    await jobs(['list'], elsewhere),
    { status: 1, output: 'This is for admins.\n' },
    'a machine’s token',
  );
  t.match(await jobs(['list'], { GATEHOUSE_URL: second.base }), { status: 1, output: /set together/ });

  const { password } = second.demo.admin;
  const token = await loginToken(second.base, second.demo.admin);
  const sessions = await jsonRequest('GET', `${second.base}/api/v1/sessions`, { token });
  const { data } = sessions.body as { data: unknown[] };
  t.equal(data.length, 1, 'no command leaves a login');
  const passwords = { current_password: password, new_password: 'another one of mine' };
  const url = `${second.base}/v2/users/${second.demo.admin.user_id}/password`;
  t.ok((await jsonRequest('PUT', url, { token, body: passwords })).status < 300);
  t.match(await jobs([]), {
    status: 1,
    output: /^The password of admin in .*demo\.json is no longer right\. Set GATEHOUSE_URL to http/,
  });
  await second.end();
});
