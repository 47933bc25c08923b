import { newId } from '@gatehouse/core/ids';
import { explainQueries, monitored } from '@gatehouse/testing/explain';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';
import { createEventStore } from '../../src/events/event-store.ts';
import { ADMIN, ANYBODY, person } from '../../src/events/event-types.ts';
import { conditionsOf } from '../../src/events/reading-rights.ts';

t.test('what somebody may read is found by an index, in the order of the list', async (t) => {
  const { store, connection } = await startTestDatabase(t, {
    uri: monitored(await testDatabase(t)),
    define: createEventStore,
  });
  const add = (i: number) =>
    store.add({
      ...{ type: 'user.created', data: {}, occurredAt: new Date(0), aggregate: `${i}`, sequence: i },
      ...{ readers: [ADMIN, person(i % 50)], source: newId('evt'), version: 1 },
    });
  await Promise.all(Array.from({ length: 500 }, (_, i) => add(i)));
  const scopes = new Set(['read:users', 'read:data']);
  for (const readers of [[ADMIN], [person(1), ANYBODY, person(2)]]) {
    for (const descending of [false, true]) {
      const list = store.where(async () => conditionsOf({ scopes, readers }));
      const query = { conditions: [], sort: { field: 'id', descending } } as const;
      await until(async () => (await list.byKeyset(query, { limit: 5 })).items.length === 5, 5000);
      const plans = await explainQueries(connection, () => list.byKeyset(query, { limit: 5 }));
      for (const { stages, documents, indexes } of plans) {
        t.notMatch(stages, /COLLSCAN|SORT(?!_MERGE)/, stages);
        t.ok(documents <= 8, `${documents} documents of ${indexes}`);
      }
    }
  }
});
