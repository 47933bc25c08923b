import { createLogger } from '@gatehouse/kit/logger';
import t from 'tap';
import type { LaneState } from '../src/queues/lane.ts';
import { createLanes } from '../src/queues/lanes.ts';

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
    { logger: createLogger({ name: 'test', level: 'silent', readable: false }), async deliver() {} },
  );
  const before = lanes.load();
  const by = { user_id: 'usr_1', client_id: 'app_1', address: '::1', user_agent: null, request_id: 'r1' };
  const pausing = lanes.setPaused('messages', 'email', true, by);
  while (reads.length < 2) await null;
  reads[1]?.resolve(new Map([['messages_email', { paused: true, outcomes: {} }]]));
  await pausing;
  t.equal(lanes.isPaused('messages', 'email'), true);
  reads[0]?.resolve(new Map());
  await before;
  t.equal(lanes.isPaused('messages', 'email'), true);
});
