import { newId } from '@gatehouse/core/ids';
import type { Condition } from '@gatehouse/domain/list-query';
import { explainQueries, monitored } from '@gatehouse/testing/explain';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';
import type { ItemField } from '../src/item.ts';
import { createItemStore } from '../src/item-store.ts';

const { store, connection } = await startTestDatabase(t, {
  uri: monitored(await testDatabase(t)),
  define: createItemStore,
});

const OWN = 5;
for (let i = 0; i < 60; i += 1) {
  const at = new Date(Date.parse('2026-01-01T00:00:00Z') + i * 1000);
  await store.insert({
    id: newId('itm'),
    ownerId: i % (60 / OWN) === 0 ? 'usr_ann' : i % 2 === 0 ? 'usr_bob' : null,
    name: `item ${i % 7}`,
    value: '1',
    version: 1,
    createdAt: at,
    updatedAt: at,
  });
}

t.test('every list is read by an index, in its order, and a person’s reads nothing of others', async (t) => {
  const FIELDS: ItemField[] = ['id', 'name', 'createdAt'];
  const conditions: Condition<ItemField>[][] = [
    [],
    [{ field: 'name', operator: 'eq', values: ['item 0'] }],
    [{ field: 'createdAt', operator: 'gt', values: [new Date('2026-01-01T00:00:05Z')] }],
  ];
  for (const [whose, list] of [['all', store] as const, ['own', store.within('usr_ann')] as const]) {
    for (const field of FIELDS) {
      for (const descending of [false, true]) {
        for (const where of conditions) {
          const query = { conditions: where, sort: { field, descending } };
          const about = `${whose}, by ${field}${descending ? ' descending' : ''}, ${where[0]?.field ?? 'all'}`;
          const plans = await explainQueries(connection, async () => {
            await list.byKeyset(query, { limit: 50 });
            await list.byOffset(query, { limit: 2, offset: 1 });
            await list.count(where);
          });
          for (const { stages, documents } of plans) {
            t.notMatch(stages, /COLLSCAN|SORT/, `${about}: ${stages}`);
            if (whose === 'own') t.ok(documents <= OWN, `${about}: ${documents} documents`);
          }
        }
      }
    }
  }
});

t.test('an id that is taken, and items that are not there', async (t) => {
  const at = new Date();
  const item = {
    id: 'itm_a',
    ownerId: null,
    name: 'a',
    value: '1',
    version: 1,
    createdAt: at,
    updatedAt: at,
  };
  await store.insert(item);
  t.match(await store.insert(item).catch((error: unknown) => error), { kind: 'conflict' });
  t.same(await store.findById('itm_a'), item);
  await store.remove('itm_a', [1]);
  t.equal(await store.findById('itm_a'), undefined, 'nothing is left');
  t.match(await store.remove('itm_a', undefined).catch((error: unknown) => error), { kind: 'not_found' });
  t.match(await store.update('itm_a', {}, undefined).catch((error: unknown) => error), { kind: 'not_found' });
});
