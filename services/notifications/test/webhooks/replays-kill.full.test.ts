import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { leastIdAt, newId } from '@gatehouse/core/ids';
import { createDatabase } from '@gatehouse/data/database';
import { createJobQueues } from '@gatehouse/events/job-queue';
import { spawnNode, until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';
import { createBenchWebhooks } from '../../bench/webhook-set-up.ts';
import { beginReplay } from '../../src/webhooks/replay-jobs.ts';
import { type WebhookDocument, webhookDocuments } from '../../src/webhooks/webhook-store.ts';
import { startReceiver } from './build.ts';

t.setTimeout(120_000);
const EVENTS = 1000;

t.test('a replay survives kill -9, and makes no delivery twice', async (t) => {
  const uri = await testDatabase(t);
  const { connection, ...database } = createDatabase({ uri, name: 'test', logger });
  const masterKey = randomBytes(32);
  const queues = createJobQueues({ name: 'test', broadcast: undefined, logger });
  const { store, secrets } = createBenchWebhooks({ connection, logger, queues, slots: 0, masterKey });
  await database.start();
  t.teardown(() => database.stop());
  const receiver = await startReceiver(t);
  await Promise.all(
    Array.from({ length: EVENTS }, () =>
      store.add({
        ...{ type: 'order.created', data: {}, occurredAt: new Date(), aggregate: newId('ord'), sequence: 1 },
        ...{ readers: ['usr_1'], source: newId('evt'), version: 1 },
      }),
    ),
  );
  const listed = store.where(async () => [{ field: 'readers', operator: 'in', values: ['usr_1'] }]);
  await until(async () => (await listed.count([])) === EVENTS, 10_000);
  const [_id, now] = [newId('whk'), new Date()];
  const [{ sealed } = { sealed: '' }] = secrets.rotated(_id);
  const webhooks = connection.collection<WebhookDocument>('webhooks');
  await webhooks.insertOne({
    ...{ _id, owner: 'usr_1', reader: 'usr_1', description: null, slot: 0, ordered: false, status: 'active' },
    basis: { owner: 'usr_1', recovery: 0, authority: 0, keyId: null },
    ...{ url: `${receiver.origin}/`, events: ['order.created'], secrets: [{ sealed, ends_at: null }] },
    ...{ pause_reason: null, version: 1, created_at: now, updated_at: now },
  } as unknown as WebhookDocument);
  const stored = async () => (await webhooks.findOne({ _id })) as WebhookDocument;
  await beginReplay({ connection }, webhookDocuments.read(await stored()), {
    ...{ id: newId('rpl'), from: new Date(0), after: leastIdAt('evt', new Date(0)), reason: null },
    ...{ until: new Date(), events: EVENTS, done: 0, startedAt: now, movedAt: now, endedAt: null },
  });
  const script = join(import.meta.dirname, '../../bench/fair-replica.ts');
  const args = [script, uri, '', '64', masterKey.toString('base64')];
  for (const at of [150, 450]) {
    const replica = spawnNode(args, {});
    await until(() => receiver.received.length >= at, 60_000);
    replica.child.kill('SIGKILL');
    await replica.ended;
  }
  const last = spawnNode(args, {});
  t.teardown(async () => {
    last.child.kill('SIGKILL');
    await last.ended;
  });
  await until(async () => (await stored()).replay?.endedAt instanceof Date, 60_000);
  const deliveries = connection.collection('webhook_deliveries');
  await until(async () => (await deliveries.countDocuments({ status: 'succeeded' })) === EVENTS, 60_000);
  t.equal((await stored()).replay?.done, EVENTS);
  t.equal(await deliveries.countDocuments({}), EVENTS);
  const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
  t.equal(new Set(ids).size, EVENTS);
  // Those that were under way when a process was killed: four at a time for an endpoint, and those that were not recorded yet.
  t.ok(ids.length - EVENTS <= 40, `${ids.length - EVENTS} came twice`);
});
