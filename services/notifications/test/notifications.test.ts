import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { explainQueries, monitored } from '@gatehouse/testing/explain';
import { freePort } from '@gatehouse/testing/processes';
import { repetitions } from '@gatehouse/testing/repetitions';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import { createNotificationStore } from '../src/notifications/store/notification-store.ts';
import { ALL, ANN, build, NOTIFICATIONS } from './build.ts';

const outbox = t.testdir();
const { notify, ended, read, call, machine, issuer, mongodbUri } = await build(t, {
  providers: { capture: { directory: outbox } },
});
const admin = await issuer.person('usr_admin', 'admin', ALL);
const captured = () => readdirSync(outbox).map((name) => readFileSync(join(outbox, name), 'utf8'));
const capturedOf = (id: string) => captured().filter((text) => text.includes(`Notification: ${id}\n`));
const pause = (lane: string, paused: boolean) =>
  call('PUT', `/api/v1/queues/messages/${lane}`, admin, { paused });
const withKey = (key: string, body: object) =>
  call('POST', NOTIFICATIONS, machine, body, { 'idempotency-key': key });
const REPETITIONS = repetitions(100, 1 / 10);
const MESSAGE = { user_id: ANN, message: 'Hello', type: 'email' };

t.test('a captured message is a file, with the address', async (t) => {
  const id = await notify({ message: 'To be captured.' });
  t.match(await ended(id), { status: 'sent' });
  t.match(capturedOf(id), [/^To: ann@example\.org\nType: email\n(?:.+\n)+\nTo be captured\.\n$/]);
});

t.test('the same Idempotency-Key makes one notification, whatever has become of it', async (t) => {
  await pause('email', true);
  const [first, second] = await Promise.all([withKey('k1', MESSAGE), withKey('k1', MESSAGE)]);
  t.same([first.status, second.status], [202, 202]);
  t.equal(second.body.id, first.body.id);
  await call('PUT', `${NOTIFICATIONS}/${first.body.id}`, machine, { priority: 'high' });
  await pause('email', false);
  t.match(await ended(first.body.id), { status: 'sent', priority: 'high' });
  const again = await withKey('k1', MESSAGE);
  t.match(again, { status: 202, body: { id: first.body.id, status: 'queued', priority: 'normal' } });
  t.equal(again.text, first.text, 'the first answer');
  t.equal((await withKey('k1', { ...MESSAGE, message: 'Other' })).status, 422);
  t.equal(capturedOf(first.body.id).length, 1);
});

const SUBJECTS: [subject: string, type: string, status: number][] = [
  ['😀'.repeat(200), 'email', 202],
  ['x'.repeat(201), 'email', 400],
  ['Order\nBcc: eve@example.org', 'email', 400],
  [' ', 'email', 400],
  ['Your order', 'sms', 400],
];

t.test('an email may have a subject of its own', async (t) => {
  const id = await notify({ message: 'It is on its way.', subject: 'Your order' });
  t.match(await ended(id), { status: 'sent', subject: 'Your order' });
  t.match(capturedOf(id), [/^Subject: Your order\n\nIt is on its way\.\n$/m]);
  for (const [subject, type, status] of SUBJECTS) {
    const response = await call('POST', NOTIFICATIONS, machine, { ...MESSAGE, subject, type });
    t.equal(response.status, status, `${type}: ${subject}`);
    if (status === 400) t.match(response.body, { error: { details: [{ field: 'subject' }] } });
  }
});

t.test('the longest message', async (t) => {
  t.equal(
    (await call('POST', NOTIFICATIONS, machine, { ...MESSAGE, message: '😀'.repeat(4096) })).status,
    202,
  );
  t.match(await call('POST', NOTIFICATIONS, machine, { ...MESSAGE, message: 'x'.repeat(4097) }), {
    status: 400,
    body: { error: { details: [{ field: 'message' }] } },
  });
});

t.test('a paused lane keeps its jobs, and no other waits for it; high overtakes', async (t) => {
  await pause('email', true);
  const low = [];
  for (let i = 0; i < 40; i += 1) low.push(await notify({ priority: 'low' }));
  const raised = await notify({ priority: 'low' });
  const high = await notify({ priority: 'high' });
  await call('PUT', `${NOTIFICATIONS}/${raised}`, machine, { priority: 'high' });
  t.match(await ended(await notify({ type: 'sms' })), { status: 'sent' }, 'SMS go on');
  t.match(await read(high), { status: 'queued', attempts: [] });
  const lanes = (await call('GET', '/api/v1/queues', admin)).body as unknown as {
    lane: string;
    paused: boolean;
    attempts: Record<string, number>;
    priorities: { priority: string; waiting: number; in_flight: number; oldest_seconds: number }[];
  }[];
  const email = lanes.find(({ lane }) => lane === 'email');
  t.match(email, { paused: true });
  const depth = email?.priorities.map((it) => [it.priority, it.waiting + it.in_flight]) ?? [];
  t.match(Object.fromEntries(depth), { high: 2, low: 40 });
  t.ok((email?.priorities[0]?.oldest_seconds ?? 0) > 0);
  await pause('email', false);
  const order = async (id: string) => Date.parse((await ended(id)).attempts[0]?.ended_at ?? '');
  const lows = (await Promise.all(low.map(order))).sort((a, b) => a - b);
  for (const id of [high, raised]) t.ok((await order(id)) <= (lows[20] ?? 0), 'before half of the low ones');
  t.equal(capturedOf(raised).length, 1, 'the void job sent nothing');
});

t.test('a cancellation and the worker: one wins', async (t) => {
  const outcomes = { cancelled: 0, sent: 0 };
  for (let i = 0; i < REPETITIONS; i += 1) {
    const id = await notify();
    if (i % 4 > 0) await new Promise((resolve) => setTimeout(resolve, (i % 4) * 3));
    const { status } = await call('DELETE', `${NOTIFICATIONS}/${id}`, machine);
    const notification = await ended(id);
    t.equal(notification.status, status === 204 ? 'cancelled' : 'sent', `answered ${status}`);
    t.equal(capturedOf(id).length, status === 204 ? 0 : 1);
    outcomes[status === 204 ? 'cancelled' : 'sent'] += 1;
  }
  t.comment(JSON.stringify(outcomes));
});

t.test('a change by an old version is refused', async (t) => {
  await pause('push', true);
  const id = await notify({ type: 'push' });
  const path = `${NOTIFICATIONS}/${id}`;
  t.equal((await call('PUT', path, machine, { priority: 'low' }, { 'if-match': '"v1"' })).status, 200);
  t.equal((await call('PUT', path, machine, { priority: 'high' }, { 'if-match': '"v1"' })).status, 412);
  t.equal((await call('DELETE', path, machine, undefined, { 'if-match': '"v1"' })).status, 412);
  t.equal((await call('DELETE', path, machine)).status, 204);
  t.equal((await call('DELETE', path, machine)).status, 204, 'again');
  await pause('push', false);
});

t.test('while users is down, nothing is accepted, and what was accepted waits', async (t) => {
  const down = await build(
    t,
    { providers: { capture: { directory: t.testdir() } } },
    { usersUrl: `http://127.0.0.1:${await freePort()}` },
  );
  const reply = await down.call('POST', NOTIFICATIONS, down.machine, MESSAGE);
  t.equal(reply.status, 503);
  t.ok(Number(reply.headers.get('retry-after')) > 0);
});

t.test('every list is read by an index', async (t) => {
  const { store, connection } = await startTestDatabase(t, {
    uri: monitored(mongodbUri),
    define: (connection) => createNotificationStore(connection, { announce() {}, logger }),
  });
  const sort = { field: 'createdAt', descending: true } as const;
  const queries = [
    { conditions: [], sort },
    { conditions: [{ field: 'status', operator: 'eq', values: ['queued'] }], sort },
    { conditions: [{ field: 'userId', operator: 'eq', values: [ANN] }], sort: { ...sort, field: 'id' } },
  ] as const;
  for (const query of queries) {
    for (const list of [store, store.within(ANN)]) {
      const plans = await explainQueries(connection, () => list.byKeyset(query, { limit: 2 }));
      for (const plan of plans) t.notMatch(plan.stages, /COLLSCAN|SORT/, plan.stages);
    }
  }
});
