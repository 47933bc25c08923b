// Writes documents with two events each into the database of its first argument, one for each of two receivers and some
// of them tombstones, publishes some through a relay of its own, and prints the ids of what was acknowledged, until it is killed.
import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { OUTBOX_INDEX, type OutboxEvent, outboxEvent } from '@gatehouse/data/outbox';
import { createOutboxPublisher } from '../src/outbox-publisher.ts';

const logger = createLogger({ name: 'writer', level: 'silent', readable: false });
const database = createDatabase({ uri: process.argv[2] ?? '', name: 'test', logger });
await database.start();
const { connection } = database;
const things = connection.collection<Record<string, unknown>>('things');
await things.createIndex({ ...OUTBOX_INDEX.fields }, { ...OUTBOX_INDEX.options });
const received = connection.collection<{ _id: string }>('received');
const receive = async ({ id }: OutboxEvent) => {
  await received.updateOne({ _id: id }, { $inc: { times: 1 } }, { upsert: true });
};
const relay = createOutboxPublisher({
  collection: connection.collection('things'),
  transport: { publish: receive },
  receivers: { 'things.other': receive },
  logger,
});
relay.start();

async function write(writer: number): Promise<void> {
  for (let i = 0; ; i += 1) {
    const outbox = [outboxEvent('things.one', { i }), outboxEvent('things.other', { i })];
    const _id = `${process.pid}.${writer}.${i}`;
    await things.insertOne({ _id, outbox, ...(i % 2 === 0 ? { deleted_at: new Date() } : {}) } as never);
    process.stdout.write(`${outbox.map(({ id }) => id).join('\n')}\n`);
    if (i % 3 === 0) for (const { subject } of outbox) relay.send(_id, subject);
  }
}
for (let writer = 0; writer < 4; writer += 1) void write(writer);
