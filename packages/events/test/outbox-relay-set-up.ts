import { OUTBOX_INDEX, type OutboxEvent, outboxEvent } from '@gatehouse/data/outbox';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import type { Test } from 'tap';
import { createOutboxRelay, type OutboxRelayOptions } from '../src/outbox-relay.ts';

export type Thing = { _id: string; outbox: OutboxEvent[]; deleted_at?: Date };

/** Documents whose events relays deliver to a receiver, which may refuse them. */
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
  const relay = (more: Partial<OutboxRelayOptions> = {}) => {
    const relay = createOutboxRelay({
      collection,
      deliver: receiver.deliver,
      logger,
      sweepSeconds: 0.02,
      ...more,
    });
    t.teardown(() => relay.stop());
    return relay;
  };
  /** Writes a document that has caused events of these names. */
  const write = (_id: string, ...names: string[]) =>
    things.insertOne({ _id, outbox: names.map((name) => outboxEvent('things', { name })) });
  const waiting = () => things.countDocuments({ 'outbox.at': { $gt: new Date(0) } });
  return { things, lines, taken, receiver, relay, write, waiting };
}

/** Names say the lane: 'x1' goes by x. */
export const lane = ({ data }: OutboxEvent) => String(data.name).charAt(0);
