import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { createAnalytics } from '../../src/analytics/analytics-service.ts';
import { type BucketReader, INTERVAL_MS } from '../../src/analytics/bucket.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const CLIENTS = 1000;
const HOURS = 300;
const START = Date.parse('2026-01-01T00:00:00Z');
/** Far more than what the groups of a response take, and far less than what all applications would. */
const ROOM = 15_000_000;

t.test('memory does not grow with the number of applications', async (t) => {
  const before = process.memoryUsage().heapUsed;
  let most = 0;
  const store: BucketReader = {
    asOf: async () => undefined,
    async *buckets() {
      for (let client = 1; client <= CLIENTS; client += 1) {
        for (let hour = 0; hour < HOURS; hour += 1) {
          yield {
            ...{ source: 'items', client: `app_${client}`, start: new Date(START + hour * INTERVAL_MS.hour) },
            entries: [{ labels: { route: 'GET /items' }, counts: { 0: client } }],
          };
        }
      }
      collectGarbage();
      most = Math.max(most, process.memoryUsage().heapUsed - before);
    },
  };
  const analytics = createAnalytics({ store, ownedBy: async () => [] });
  const { totals, data } = await analytics.query(
    {
      ...{ metric: 'requests', interval: 'hour', group: 'client_id', client: undefined },
      ...{ from: new Date(START), to: new Date(START + HOURS * INTERVAL_MS.hour) },
    },
    { person: undefined } as Parameters<typeof analytics.query>[1],
  );
  t.equal(totals.length, 21);
  t.same(totals[0], { key: 'app_1000', value: 1000 * HOURS });
  t.same(totals.at(-1), { key: 'other', value: ((980 * 981) / 2) * HOURS });
  t.equal(data.length, 21 * HOURS);
  t.ok(most < ROOM, `${most} bytes`);
});
