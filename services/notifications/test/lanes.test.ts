import { setTimeout as sleep } from 'node:timers/promises';
import { createLocalBroadcast } from '@gatehouse/events/local-broadcast';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import type { LaneState } from '../src/queues/lane.ts';
import { createLaneStore } from '../src/queues/lane-store.ts';
import { createLanes } from '../src/queues/lanes.ts';

const by = { user_id: 'usr_1', client_id: 'app_1', address: '::1', user_agent: null, request_id: 'r1' };

t.test('a lane stays paused when what was read before comes after it', async (t) => {
  const reads: PromiseWithResolvers<ReadonlyMap<string, LaneState>>[] = [];
  const lanes = createLanes(
    {
      readAll() {
        const read = Promise.withResolvers<ReadonlyMap<string, LaneState>>();
        reads.push(read);
        return read.promise;
      },
      async setPaused() {},
      async record() {},
      async add() {},
    },
    { broadcast: undefined, logger, async publish() {} },
  );
  const before = lanes.load();
  const pausing = lanes.setPaused('messages', 'email', true, by);
  while (reads.length < 2) await null;
  reads[1]?.resolve(new Map([['messages_email', { paused: true, outcomes: {} }]]));
  await pausing;
  t.equal(lanes.isPaused('messages', 'email'), true);
  reads[0]?.resolve(new Map());
  await before;
  t.equal(lanes.isPaused('messages', 'email'), true);
});

t.test('a lane is paused also when its first attempt is counted at this moment', async (t) => {
  const { store, connection } = await startTestDatabase(t, { define: createLaneStore });
  const lanes = Array.from({ length: 50 }, (_, i) => `messages_${i}`);
  const action = { action: 'queue.paused', details: {}, by } as const;
  for (const lane of lanes) {
    await Promise.all([store.setPaused(lane, true, action), store.add(lane, { accepted: 1 })]);
  }
  const states = await store.readAll();
  t.same(
    lanes.map((lane) => states.get(lane)),
    lanes.map(() => ({ paused: true, outcomes: { accepted: 1 } })),
  );
  t.equal(await connection.collection('lanes').countDocuments({ outbox: { $size: 1 } }), lanes.length);
});

t.test(
  'another replica pauses a lane as soon as it hears of it, and reads nothing while nothing changes',
  async (t) => {
    const { store } = await startTestDatabase(t, { define: createLaneStore });
    const broadcast = createLocalBroadcast({ logger });
    let reads = 0;
    const readAll = async () => {
      reads += 1;
      return store.readAll();
    };
    const options = { broadcast, logger, async publish() {} };
    const [here, there] = [createLanes(store, options), createLanes({ ...store, readAll }, options)];
    await there.load();
    there.start();
    t.teardown(() => there.stop());
    await broadcast.start();
    while (reads < 2) await sleep(5);
    for (const paused of [true, false]) {
      await here.setPaused('messages', 'email', paused, by);
      while (there.isPaused('messages', 'email') !== paused) await sleep(5);
    }
    const before = reads;
    // Longer than the second after which a replica that hears nothing reads again: nothing happens that could be awaited.
    await sleep(1600);
    t.equal(reads, before);
  },
);
