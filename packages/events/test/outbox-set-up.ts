import { OUTBOX_INDEX, type OutboxEvent, outboxEvent } from '@gatehouse/data/outbox';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import type { Test } from 'tap';
import { createOutboxPublisher } from '../src/outbox-publisher.ts';

export type Thing = { _id: string; outbox: OutboxEvent[]; deleted_at?: Date };

export type Options = Parameters<typeof createOutboxPublisher>[0];

/** Documents whose events publishers deliver to a receiver, which may refuse them. */
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
    async deliver(event: OutboxEvent) {
      await receiver.before(event);
      if (receiver.refuses(event)) throw new Error('not now');
      taken.push(String(event.data.name));
    },
  };
  /** A publisher, with `push` for events of the lane, by default those of the transport. */
  const relay = (more: Partial<Options> = {}) => {
    const transport = { publish: receiver.deliver };
    const publisher = createOutboxPublisher({ collection, transport, logger, sweepSeconds: 0.02, ...more });
    t.teardown(() => publisher.stop());
    const push = (id: string, ms = 1000, lane = '') => publisher.deliver(id, `things${lane}`, ms);
    return { ...publisher, push };
  };
  /** Receivers of the lanes x and y. */
  const lanes = { receivers: { thingsx: receiver.deliver, thingsy: receiver.deliver } };
  /** Writes a document that has caused events of these names. */
  const write = (_id: string, ...names: string[]) => things.insertOne({ _id, outbox: names.map(event) });
  const waiting = () => things.countDocuments({ 'outbox.at': { $gt: new Date(0) } });
  return { things, lines, taken, receiver, relay, lanes, write, waiting };
}

/** An event of this name, which says the lane: 'x1' goes by x, and others by none. */
export function event(name: string): OutboxEvent {
  const [lane = ''] = /^[xy](?=\d)/.exec(name) ?? [];
  return outboxEvent(`things${lane}`, { name });
}
