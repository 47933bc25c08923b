import { OUTBOX_INDEX, type OutboxEvent, outboxEvent } from '@gatehouse/data/outbox';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import type { Test } from 'tap';
import { createOutboxPublisher } from '../src/outbox-publisher.ts';

export type Thing = { _id: string; outbox: OutboxEvent[]; deleted_at?: Date };

export type Options = Parameters<typeof createOutboxPublisher>[0];

/** Documents whose events publishers send to a receiver, which may refuse them. */
export async function setUp(t: Test) {
  const { logger, lines } = recordingLogger();
  const { connection } = await startTestDatabase(t);
  const collection = connection.collection('things');
  const things = connection.collection<Thing>('things');
  await things.createIndex({ ...OUTBOX_INDEX.fields }, { ...OUTBOX_INDEX.options });

  const taken: string[] = [];
  const receiver = {
    /** What it refuses to take. */
    refuses: (_event: OutboxEvent): boolean => false,
    /** What it waits for first. */
    before: async (_event: OutboxEvent): Promise<unknown> => undefined,
    async take(event: OutboxEvent) {
      await receiver.before(event);
      if (receiver.refuses(event)) throw new Error('not now');
      taken.push(String(event.data.name));
    },
  };
  /** A publisher, with `push` for events of the receiver, by default those of the transport. */
  const relay = (more: Partial<Options> = {}) => {
    const transport = { publish: receiver.take };
    const publisher = createOutboxPublisher({ collection, transport, logger, sweepSeconds: 0.02, ...more });
    t.teardown(() => publisher.stop());
    const push = (id: string, ms = 1000, to = '') => publisher.publish(id, `things${to}`, ms);
    return { ...publisher, push };
  };
  /** Two receivers, x and y. */
  const two = { receivers: { thingsx: receiver.take, thingsy: receiver.take } };
  /** Writes a document that has caused events of these names. */
  const write = (_id: string, ...names: string[]) => things.insertOne({ _id, outbox: names.map(event) });
  const waiting = () => things.countDocuments({ 'outbox.at': { $gt: new Date(0) } });
  return { things, lines, taken, receiver, relay, two, write, waiting };
}

/** An event of this name, which says the receiver: 'x1' goes to x, and others to the transport. */
export function event(name: string): OutboxEvent {
  const [to = ''] = /^[xy](?=\d)/.exec(name) ?? [];
  return outboxEvent(`things${to}`, { name });
}
