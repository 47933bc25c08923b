import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { Schema } from 'mongoose';
import t from 'tap';

const { write } = Socket.prototype;

/** The next command goes to a socket that is closed at that very moment, as when the server goes away. */
function closeAtNextWrite(): void {
  Socket.prototype.write = function closing(this: Socket, ...args: Parameters<typeof write>) {
    Socket.prototype.write = write;
    this.destroy();
    return write.apply(this, args);
  } as typeof write;
}

t.test('an operation on a closing connection ends', async (t) => {
  const { store: things, ...database } = await startTestDatabase(t, {
    define: (connection) => connection.model('Thing', new Schema({ _id: String, n: Number }), 'things'),
  });
  t.teardown(() => {
    Socket.prototype.write = write;
  });
  await things.updateOne({ _id: 'a' }, { $set: { n: 1 } }, { upsert: true });

  /** What becomes of it within five seconds. */
  const outcome = (operation: Promise<unknown>) =>
    Promise.race([
      operation.then(
        () => 'done',
        (error: unknown) => (database.unavailable(error) === undefined ? String(error) : 'unavailable'),
      ),
      sleep(5000, 'still waiting', { ref: false }),
    ]);
  for (let i = 0; i < 5; i += 1) {
    closeAtNextWrite();
    t.match(await outcome(things.findById('a').lean().exec()), /^(?:done|unavailable)$/);
    closeAtNextWrite();
    t.match(
      await outcome(things.updateOne({ _id: 'a' }, { $inc: { n: 1 } }).exec()),
      /^(?:done|unavailable)$/,
    );
  }
  t.equal(await outcome(things.findById('a').lean().exec()), 'done');
});

t.test('large writes leave nothing behind on their connection', async (t) => {
  const { connection } = await startTestDatabase(t);
  const sockets = new Set<Socket>();
  Socket.prototype.write = function seen(this: Socket, ...args: Parameters<typeof write>) {
    sockets.add(this);
    return write.apply(this, args);
  } as typeof write;
  t.teardown(() => {
    Socket.prototype.write = write;
  });
  const things = connection.collection('large');
  const most = () => Math.max(...[...sockets].map((socket) => socket.listenerCount('close')));
  // Larger than the socket's buffer: the driver waits until it has drained.
  const large = { text: 'x'.repeat(8_000_000) };
  await things.insertOne({ ...large });
  const before = most();
  for (let i = 0; i < 5; i += 1) await things.insertOne({ ...large });
  t.equal(most(), before);
});
