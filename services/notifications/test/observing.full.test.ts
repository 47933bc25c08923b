import { startMailServer } from '@gatehouse/testing/mail-server';
import { until } from '@gatehouse/testing/processes';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import { ALL, BOB, build } from './build.ts';
import { startGateway } from './gateway.ts';

const { logger, text } = recordingLogger('debug');
const mail = await startMailServer(t);
const gateway = await startGateway(t);
const sending = {
  providers: {
    email: { smtpUrl: mail.url, from: 'no-reply@example.org' },
    sms: { url: gateway.url, from: '+15005550006' },
  },
  backoffMs: { first: 5, max: 10 },
};
const { notify, ended, call, machine, issuer, base } = await build(t, sending, { logger });
const admin = await issuer.person('usr_admin', 'admin', ALL);

t.test('neither a message nor an address is in a log or an error, whatever happens', async (t) => {
  const message = 'Nobody else is to read this.';
  t.match(await ended(await notify({ message })), { status: 'sent' });
  t.match(await ended(await notify({ message, user_id: BOB })), { status: 'failed' });
  mail.state.refuse = 550;
  gateway.state.mode = 'reject';
  const shown = [await ended(await notify({ message })), await ended(await notify({ message, type: 'sms' }))];
  gateway.state.mode = 'fail';
  shown.push(await ended(await notify({ message, type: 'sms' }), ['failed'], 20_000));
  await until(() => text().includes('a job has become a dead letter'), 5000);
  for (const { reason, attempts } of shown) {
    t.notMatch(JSON.stringify([reason, attempts]), /ann@|49301234567|t0ken/);
  }
  t.notMatch(text(), /Nobody else|ann@|4930|t0ken/);
});

t.test('the metrics of queues at /metrics', async (t) => {
  const metrics = async () => (await fetch(`${base}/metrics`)).text();
  await until(async () => (await metrics()).includes('outcome="unknown"} 8'), 5000);
  // The depth of the queues is read now and then.
  const hasDeadLetter = /^gatehouse_dead_letters\{.*lane="sms",priority="normal".*\} 1$/m;
  await until(async () => hasDeadLetter.test(await metrics()), 20_000);
  const text = await metrics();
  t.match(text, /^gatehouse_job_attempts_total\{.*lane="sms",outcome="unknown".*\} 8$/m);
  for (const name of ['waiting', 'in_flight', 'oldest_seconds']) {
    t.match(text, new RegExp(`^gatehouse_jobs_${name}\\{.*lane="email",priority="high".*\\} 0$`, 'm'));
  }
  for (const name of ['paused', 'failing'])
    t.match(text, new RegExp(`^gatehouse_lane_${name}\\{.*lane="push".*\\} 0$`, 'm'));
});

t.test('analytics count what notifications have become', async (t) => {
  const from = new Date(Date.now() - 600_000).toISOString();
  const path = `/api/v1/analytics?metric=notifications&from=${from}&interval=minute&group_by=status`;
  type Analytics = { total: number; data: { status: string; value: number }[] };
  const analytics = async () => (await call('GET', path, admin)).body as unknown as Analytics;
  await until(async () => (await analytics()).total === 5, 20_000);
  const sums = new Map<string, number>();
  for (const { status, value } of (await analytics()).data) sums.set(status, (sums.get(status) ?? 0) + value);
  t.same(Object.fromEntries(sums), { sent: 1, failed: 4 });
});

t.test('the providers are integrations', async (t) => {
  const { body } = await call('GET', '/v2/integrations', machine);
  t.match(body.data, [
    { id: 'email', status: 'ok' },
    { id: 'sms', status: 'error', message: 'The SMS gateway fails (500).' },
    { id: 'push', status: 'unconfigured' },
  ]);
});
