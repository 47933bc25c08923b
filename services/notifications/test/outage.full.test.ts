import { startMailServer } from '@gatehouse/testing/mail-server';
import { freePort, until } from '@gatehouse/testing/processes';
import t from 'tap';
import { ALL, build } from './build.ts';
import { startGateway } from './gateway.ts';

const gateway = await startGateway(t);
const port = await freePort();
const { notify, ended, read, call, issuer, machine, base } = await build(t, {
  providers: {
    email: { smtpUrl: `smtp://127.0.0.1:${port}`, from: 'no-reply@example.org' },
    sms: { url: gateway.url, from: '+15005550006' },
  },
});
const admin = await issuer.person('usr_admin', 'admin', ALL);

type Lane = { lane: string; failing: { error: string } | null; attempts: Record<string, number> };
async function lane(name: string): Promise<Lane | undefined> {
  const lanes = (await call('GET', '/api/v1/queues', admin)).body as unknown as Lane[];
  return lanes.find((each) => each.lane === name);
}
/** The value of a figure of the lane at /metrics, of all priorities together. */
async function metric(name: string, labels: string): Promise<number> {
  const text = await (await fetch(`${base}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) && line.includes(labels));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}
const deadLetters = async (query = '') => (await call('GET', `/api/v1/dead-letters${query}`, admin)).body;

t.test('while the mail server is down, emails wait and burn no attempts', async (t) => {
  const ids = await Promise.all(Array.from({ length: 6 }, () => notify()));
  await until(async () => (await lane('email'))?.failing?.error !== undefined, 10_000);
  t.match(await lane('email'), { failing: { error: 'The mail server cannot be reached.' } });
  t.match(await ended(await notify({ type: 'sms' })), { status: 'sent' }, 'SMS go on');
  t.equal(await metric('gatehouse_lane_failing', 'lane="email"'), 1);
  t.equal(await metric('gatehouse_lane_failing', 'lane="sms"'), 0);
  await until(async () => (await metric('gatehouse_jobs_oldest_seconds', 'lane="email"')) > 0, 20_000);
  t.equal(await metric('gatehouse_jobs_oldest_seconds', 'lane="sms"'), 0);
  await until(
    async () => (await metric('gatehouse_job_attempts_total', 'lane="email",outcome="postponed"')) >= 5,
    5000,
  );
  for (const id of ids) {
    const { status, attempts } = await read(id);
    t.match([status, attempts], [/queued|sending/, []], 'nothing was attempted');
  }
  await startMailServer(t, { port });
  for (const id of ids) {
    t.match(await ended(id, ['sent'], 20_000), { attempts: [{ outcome: 'accepted' }] });
  }
  t.match(await lane('email'), { failing: null });
  t.equal(await metric('gatehouse_lane_failing', 'lane="email"'), 0);
});

t.test('a dead letter is read, replayed when the cause is gone, and removed', async (t) => {
  gateway.state.mode = 'fail';
  const ids = [await notify({ type: 'sms', priority: 'high' }), await notify({ type: 'sms' })];
  for (const id of ids)
    t.match(await ended(id, ['failed'], 20_000), { reason: 'The SMS gateway failed (500).' });
  const page = await deadLetters('?limit=1&queue=messages');
  t.match(page, { data: [{ queue: 'messages', lane: 'sms', attempts: 8 }] });
  const next = await call('GET', page.links.next ?? '', admin);
  t.equal(next.body.data.length, 1);
  t.equal(next.body.links.next, undefined);
  const letters = [...page.data, ...next.body.data];
  t.same(letters.map(({ id }) => id).sort(), ids.sort());
  const [first, second] = letters.map(({ id }) => id);
  t.match(await call('GET', `/api/v1/dead-letters/${first}`, admin), { status: 200, body: { id: first } });

  gateway.state.mode = 'accept';
  const replay = await call('POST', '/api/v1/dead-letters', admin, { ids: [first, 'ntf_unknown'] });
  t.match(replay.body, { replayed: 1, unknown: ['ntf_unknown'] });
  const replayed = await ended(String(first), ['sent']);
  t.equal(replayed.attempts.length, 9, 'the earlier attempts stay visible');
  t.equal((await call('DELETE', `/api/v1/dead-letters/${second}`, admin)).status, 204);
  t.same((await deadLetters()).data, []);
  t.match(await read(String(second)), { status: 'failed' });
});

t.test('an operator’s work is for admins', async (t) => {
  const editor = await issuer.person('usr_editor', 'editor', ALL);
  for (const token of [editor, machine]) {
    t.equal((await call('GET', '/api/v1/dead-letters', token)).status, 403);
    t.equal((await call('PUT', '/api/v1/queues/messages/email', token, { paused: true })).status, 403);
  }
});

t.test('attempts are counted by their outcome', async (t) => {
  const expected = { accepted: 2, unknown: 16 };
  await until(
    async () => JSON.stringify((await lane('sms'))?.attempts) === JSON.stringify(expected),
    5000,
  ).catch(() => {});
  t.same((await lane('sms'))?.attempts, expected);
});
