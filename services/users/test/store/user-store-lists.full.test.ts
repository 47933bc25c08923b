import { newId } from '@gatehouse/core/ids';
import { createCounts } from '@gatehouse/data/counts';
import { foldedKey } from '@gatehouse/domain/folded-key';
import type { Condition, FilterOperator, ListQuery, Position } from '@gatehouse/domain/list-query';
import { explainQueries, monitored } from '@gatehouse/testing/explain';
import { repetitions } from '@gatehouse/testing/repetitions';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t, { type Test } from 'tap';
import { searchFields } from '../../src/store/user-document.ts';
import { createUserStore } from '../../src/store/user-store.ts';
import type { User, UserRecord } from '../../src/user.ts';
import { userRecord } from './user-record.ts';

const USER_FIELDS = ['id', 'username', 'email', 'role', 'status', 'createdAt', 'updatedAt'] as const;

type UserField = (typeof USER_FIELDS)[number];

const { store, connection } = await startTestDatabase(t, {
  uri: monitored(await testDatabase(t)),
  // Every count is asked of the database, however long it takes.
  define: (connection) => createUserStore(connection, createCounts({ keepSeconds: 0 })),
});

const BEGIN = Date.parse('2026-01-01T00:00:00Z');
/** Some who are alike in everything that they can be alike in, some without an address. */
const PEOPLE = 50;
const everybody: User[] = [];
for (let i = 0; i < PEOPLE; i += 1) {
  const username = `${['ann', 'Bob', 'čeněk', '\u{1f600}x', '\uff41nn'][i % 5]}${(i * 37) % PEOPLE}`;
  const record = userRecord({
    username,
    email: i % 4 === 0 ? null : `${username}@example.org`,
    firstName: i % 6 === 0 ? 'Ann' : null,
    lastName: i % 4 === 0 ? 'Lee' : null,
    role: i % 9 === 0 ? 'admin' : i % 7 === 0 ? 'editor' : 'user',
    status: i % 5 === 0 ? 'inactive' : 'active',
    createdAt: new Date(BEGIN + Math.floor(i / 10) * 1000),
    updatedAt: new Date(BEGIN + (i % 3) * 1000),
  });
  await store.insert(record);
  const user = await store.findById(record.id);
  if (user !== undefined) everybody.push(user);
}
// The deleted, whose events wait, are in no list.
const GONE = 3;
for (let i = 0; i < GONE; i += 1) {
  const gone = { ...everybody[i], id: newId('usr'), username: `gone${i}`, email: null } as UserRecord;
  await store.insert({ ...gone, passwordHash: null });
  await store.remove(gone.id);
}

/** What a user is sorted and compared by: the model of what the database does. */
function keyOf(user: User, field: UserField): Buffer | number {
  const value = user[field];
  if (value instanceof Date) return value.getTime();
  if (value === null) return Buffer.from('');
  return Buffer.from(field === 'username' || field === 'email' ? foldedKey(value) : value);
}

function order(a: Buffer | number, b: Buffer | number): number {
  return typeof a === 'number' ? a - (b as number) : Buffer.compare(a, b as Buffer);
}

function meets(user: User, { field, operator, values }: Condition<UserField>): boolean {
  const own = keyOf(user, field);
  const orders = values.map((value) => order(own, keyOf({ ...user, [field]: value }, field)));
  // Who has no address is before and after none.
  if (user[field] === null) return operator === 'ne';
  const [by = 0] = orders;
  switch (operator) {
    case 'eq':
      return by === 0;
    case 'ne':
      return by !== 0;
    case 'gt':
      return by > 0;
    case 'gte':
      return by >= 0;
    case 'lt':
      return by < 0;
    case 'lte':
      return by <= 0;
    case 'in':
      return orders.includes(0);
  }
}

/** The ids of the whole list, in its order. */
function expected({ conditions, sort: { field, descending } }: ListQuery<UserField>): string[] {
  const id = (user: User) => Buffer.from(user.id);
  const sorted = everybody
    .filter((user) => conditions.every((condition) => meets(user, condition)))
    .sort((a, b) => order(keyOf(a, field), keyOf(b, field)) || Buffer.compare(id(a), id(b)));
  return (descending ? sorted.reverse() : sorted).map((user) => user.id);
}

const idsOf = (users: readonly User[]) => users.map(({ id }) => id);

/** Fails when a list is not the expected one, walked in both directions, by offset, or as it is counted. */
async function assertList(t: Test, query: ListQuery<UserField>, limit: number): Promise<void> {
  const all = expected(query);
  for (const direction of ['next', 'previous'] as const) {
    const seen: string[] = [];
    // From behind the last one, the row itself belongs to the first page.
    let position = direction === 'next' ? undefined : (await store.byKeyset(query, { limit: PEOPLE })).last;
    for (let inclusive = true; seen.length < all.length || seen.length === 0; inclusive = false) {
      const from = position === undefined ? {} : { from: { position, direction, inclusive } };
      const rows = await store.byKeyset(query, { limit, ...from });
      const [behind, ahead] = [seen.length > 0, seen.length + rows.items.length < all.length];
      const [hasPrevious, hasNext] = direction === 'next' ? [behind, ahead] : [ahead, behind];
      if (all.length > 0) t.match(rows, { hasPrevious, hasNext }, `beside a page: ${named(query)}`);
      if (direction === 'next') seen.push(...idsOf(rows.items));
      else seen.unshift(...idsOf(rows.items));
      position = direction === 'next' ? rows.last : rows.first;
      if (rows.items.length === 0) break;
    }
    t.same(seen, all, `${named(query)}, ${direction}`);
  }
  const rows = await store.byOffset(query, { offset: 5, limit });
  t.same(idsOf(rows.items), all.slice(5, 5 + limit), `${named(query)}, by offset`);
  t.match(rows, { hasNext: 5 + limit < all.length, hasPrevious: all.length > 0 });
  t.equal(await store.count(query.conditions), all.length, `${named(query)}, counted`);
}

const lists: ListQuery<UserField>[] = USER_FIELDS.flatMap((field) =>
  [false, true].map((descending) => ({ conditions: [], sort: { field, descending } })),
);
const named = ({ conditions, sort: { field, descending } }: ListQuery<UserField>) =>
  [
    ...conditions.map(
      ({ field, operator, values }) => `${field} ${operator} ${values.map(valueText).join()}`,
    ),
    `by ${field}${descending ? ', descending' : ''}`,
  ].join('; ');
const valueText = (value: unknown) => (value instanceof Date ? value.toISOString() : String(value));

t.test('every list has each user once and in order, by cursor and by offset', async (t) => {
  for (const query of lists) {
    t.equal(expected(query).length, PEOPLE);
    for (const limit of [4, 100]) await assertList(t, query, limit);
  }
});

/** Conditions of every kind on every field. */
const conditions: Condition<UserField>[] = USER_FIELDS.flatMap((field) => {
  const values = [3, 30, 31].map((i) => everybody[i]?.[field] ?? everybody[1]?.[field]) as Date[];
  const one = (['eq', 'ne', 'gt', 'gte', 'lt', 'lte'] as FilterOperator[]).map((operator) => ({
    field,
    operator,
    values: values.slice(0, 1),
  }));
  return [...one, { field, operator: 'in', values } as const];
});

t.test('conditions, with every sort', async (t) => {
  for (const [i, condition] of conditions.entries()) {
    // Each with every field, in the one direction or the other; in a quick run with two of these.
    const sorts = lists.filter((_, n) => (n + Math.floor(n / 2) + i) % 2 === 0);
    const { length } = sorts;
    for (const { sort } of [...sorts, ...sorts].slice(i % length, (i % length) + repetitions(length)))
      await assertList(t, { conditions: [condition], sort }, 20);
  }
});

t.test('several conditions at once', async (t) => {
  // Any others are in the tests of list plans.
  const several: Condition<UserField>[][] = [
    [
      { field: 'role', operator: 'eq', values: ['user'] },
      { field: 'status', operator: 'eq', values: ['inactive'] },
    ],
    [
      { field: 'role', operator: 'in', values: ['admin', 'user'] },
      { field: 'status', operator: 'ne', values: ['inactive'] },
    ],
    [
      { field: 'username', operator: 'in', values: everybody.slice(10, 40).map(({ username }) => username) },
      { field: 'email', operator: 'lt', values: ['b'] },
    ],
    [{ field: 'role', operator: 'eq', values: ['nobody'] }],
    [{ field: 'email', operator: 'eq', values: [''] }],
    [{ field: 'username', operator: 'eq', values: ['$ne'] }],
  ];
  for (const conditions of several) {
    for (const { sort } of lists) await assertList(t, { conditions, sort }, 3);
  }
});

t.test('usernames and addresses are compared without case and form', async (t) => {
  const { id, username, email } = everybody.find((user) => user.email?.startsWith('čeněk')) as User;
  for (const [field, value] of [
    ['username', username],
    ['email', email ?? ''],
  ] as const) {
    const values = [value.toUpperCase().normalize('NFD')];
    const query = {
      conditions: [{ field, operator: 'eq', values }],
      sort: { field: 'id', descending: false },
    } as const;
    t.same(idsOf((await store.byKeyset(query, { limit: 5 })).items), [id]);
    t.equal(await store.count(query.conditions), 1);
  }
});

t.test('cached counts include own writes', async (t) => {
  const { store: counter } = await startTestDatabase(t, {
    define: (connection) => createUserStore(connection, createCounts({ slowMs: 0 })),
  });
  const of = (status: string) => [{ field: 'status', operator: 'eq', values: [status] } as const];
  const all = () => Promise.all([[], of('active'), of('inactive')].map((it) => counter.count(it)));
  const [first, second] = [userRecord(), userRecord()];
  const writes: [write: () => Promise<unknown>, counts: number[]][] = [
    [() => counter.insert(first), [1, 1, 0]],
    [() => counter.insert(second), [2, 2, 0]],
    [() => counter.update(first.id, { status: 'inactive' }), [2, 1, 1]],
    [() => counter.changeSecurity(second.id, { reason: 'status', status: 'inactive' }), [2, 0, 2]],
    [() => counter.remove(first.id), [1, 0, 1]],
    [() => t.rejects(counter.remove(first.id)), [1, 0, 1]],
    [() => t.rejects(counter.insert(second)), [1, 0, 1]],
  ];
  for (const [write, counts] of writes) {
    await write();
    t.same(await all(), counts);
  }
});

t.test('a position that no user has is rejected, or answered', async (t) => {
  const positions: [UserField, Position['value'], isRejected: boolean][] = [
    ...[
      ['id', 'x'],
      ['username', null],
      ['username', 1],
      ['role', 5],
      ['createdAt', 'yesterday'],
    ].map(([field, value]): [UserField, Position['value'], boolean] => [
      field as UserField,
      value as string,
      true,
    ]),
    ...[
      ['role', 'nobody'],
      ['role', null],
      ['status', '\ud800'],
      ['createdAt', 0.5],
      ['id', null],
    ].map(([field, value]): [UserField, Position['value'], boolean] => [
      field as UserField,
      value as string,
      false,
    ]),
  ];
  for (const [field, value, isRejected] of positions) {
    for (const direction of ['next', 'previous'] as const) {
      const query = { conditions: [], sort: { field, descending: false } };
      const from = { position: { value, id: 'x' }, direction, inclusive: true };
      const found: unknown = await store.byKeyset(query, { limit: 100, from }).catch((error) => error);
      const expected = isRejected ? { kind: 'invalid', details: [{ field: 'cursor' }] } : { items: Array };
      t.match(found, expected, `${field} ${value}`);
    }
  }
});

const explained = (run: () => Promise<unknown>) => explainQueries(connection, run);

/** From the middle of the list, in both directions. */
async function positionsIn(query: ListQuery<UserField>) {
  const { first, last } = await store.byKeyset(query, { limit: 25 });
  return [first, last].filter((position) => position !== undefined);
}

t.test('every list reads an index in order, and only the keys of the page', async (t) => {
  for (const query of lists) {
    const [, position] = await positionsIn(query);
    const froms = (['next', 'previous'] as const).flatMap((direction) =>
      [false, true].map((inclusive) => ({ from: { position: position as Position, direction, inclusive } })),
    );
    for (const from of [{}, ...froms]) {
      const plans = await explained(() => store.byKeyset(query, { limit: 5, ...from }));
      // The other side of a position is asked for only when the document at it does not tell.
      t.equal(plans.length, 'from' in from && (from.from as { inclusive: boolean }).inclusive ? 2 : 1);
      for (const { stages, keys, documents } of plans) {
        t.match(stages, /IXSCAN/, `${named(query)} ${JSON.stringify(from)}`);
        t.notMatch(stages, /COLLSCAN|SORT/, stages);
        // The deleted are in the index of ids alone, and are the last there.
        t.ok(keys <= 7 + GONE, `${keys} keys`);
        t.ok(documents <= 7 + GONE, `${documents} documents`);
      }
    }
    const [plan] = await explained(() => store.byOffset(query, { limit: 5, offset: 30 }));
    t.match(plan?.stages, /IXSCAN/);
    t.notMatch(plan?.stages, /COLLSCAN|SORT/);
    t.ok((plan?.keys ?? 100) <= 36 + GONE);
  }
});

t.test('conditions on role and status are read from their indexes, in the order of ids', async (t) => {
  const role = (operator: FilterOperator, ...values: string[]) => ({
    field: 'role' as const,
    operator,
    values,
  });
  const status = (value: string) => ({ field: 'status', operator: 'eq', values: [value] }) as const;
  const cases: [Condition<UserField>[], string][] = [
    [[role('eq', 'editor')], 'role_1__id_1'],
    [[role('in', 'editor', 'admin')], 'role_1__id_1'],
    [[role('ne', 'user')], 'role_1__id_1'],
    [[status('inactive')], 'status_1__id_1'],
    [[role('eq', 'user'), status('inactive')], 'status_1__id_1'],
    [[status('active'), role('eq', 'admin')], 'role_1__id_1'],
  ];
  for (const [conditions, index] of cases) {
    for (const descending of [false, true]) {
      const query = { conditions, sort: { field: 'id', descending } } as const;
      const [position] = await positionsIn(query);
      for (const from of [
        {},
        { from: { position: position as Position, direction: 'next', inclusive: false } },
      ]) {
        const plans = await explained(() => store.byKeyset(query, { limit: 2, ...(from as object) }));
        for (const { stages, indexes } of plans) {
          t.equal(indexes[0], index, named(query));
          t.notMatch(stages, /COLLSCAN|\bSORT\b/);
        }
        // The page, one more on each side.
        const documents = plans.reduce((sum, plan) => sum + plan.documents, 0);
        if (conditions.length === 1) t.ok(documents <= 4, `${documents} documents`);
      }
    }
  }
});

t.test('every condition is read from an index, with every sort', async (t) => {
  for (const condition of conditions) {
    for (const { sort } of lists) {
      for (const { stages } of await explained(() =>
        store.byKeyset({ conditions: [condition], sort }, { limit: 5 }),
      )) {
        if (!/IXSCAN/.test(stages) || /COLLSCAN|\bSORT\b/.test(stages)) {
          t.fail(`${named({ conditions: [condition], sort })}: ${stages}`);
        }
      }
    }
    for (const { stages } of await explained(() => store.count([condition]))) {
      const isUnlike = condition.field === 'id';
      t.match(stages, /IXSCAN|COUNT_SCAN/, `${condition.field} ${condition.operator}: ${stages}`);
      t.notMatch(stages, isUnlike ? /COLLSCAN/ : /COLLSCAN|FETCH/, 'counted on the index');
    }
  }
  for (const { stages } of await explained(() => store.count([]))) {
    t.notMatch(stages, /COLLSCAN|FETCH/, 'everybody, on the index');
  }
});

t.test('a list with a range of the sort field begins at the range', async (t) => {
  const last = everybody.at(-1) as User;
  const conditions: Condition<UserField>[] = [
    { field: 'createdAt', operator: 'gte', values: [last.createdAt] },
    { field: 'createdAt', operator: 'lte', values: [last.createdAt] },
  ];
  for (const descending of [false, true]) {
    const query: ListQuery<UserField> = { conditions, sort: { field: 'createdAt', descending } };
    const [plan] = await explained(() => store.byKeyset(query, { limit: 50 }));
    t.equal(plan?.keys, 10);
    t.equal(plan?.documents, 10);
  }
});

t.test('a list of some properties has them as a list of all has, and reads no other fields', async (t) => {
  const sort = { field: 'id', descending: false } as const;
  const whole = await store.byOffset({ conditions: [], sort }, { limit: 100, offset: 0 });
  const client = connection.getClient();
  let projection: Record<string, unknown> = {};
  const record = ({ command }: { command: { projection?: Record<string, unknown> } }) => {
    projection = command.projection ?? {};
  };
  client.on('commandStarted', record);
  for (const property of Object.keys(everybody[0] ?? {}) as (keyof User)[]) {
    const query = { conditions: [], sort, properties: [property] };
    const { items } = await store.byOffset(query, { limit: 100, offset: 0 });
    t.strictSame(
      items.map((item) => item[property]),
      whole.items.map((item) => item[property]),
      property,
    );
    t.ok(Object.keys(projection).length <= (property === 'name' ? 5 : 2), `${property}: projection`);
  }
  client.off('commandStarted', record);
});

t.test('a search reads the words that begin so, and 10,000 users for the text', async (t) => {
  const collection = connection.collection('users');
  const MANY = 12_000;
  // By their ids, they came before everybody else.
  const copies = Array.from({ length: MANY }, (_, i) => ({
    ...{ _id: `usr_${String(i).padStart(26, '0')}` as never, username: `robot${i}`, email: null },
    ...{ username_key: `robot${i}`, email_key: `\0robot${i}`, password_hash: null, version: 1 },
    ...{ role: i === 7 ? 'admin' : 'user', status: 'active', outbox: [] },
    ...{ created_at: new Date(BEGIN + i), updated_at: new Date(BEGIN + i) },
    ...searchFields({ ...userRecord({ email: null }), username: `robot${i}` }),
  }));
  await collection.insertMany(copies);

  const sort = { field: 'createdAt', descending: true } as const;
  const is = (field: UserField | 'text', ...values: string[]) => ({ field, operator: 'eq', values }) as const;
  const annLees = everybody
    .filter((it) => it.lastName && (it.firstName || foldedKey(it.username).startsWith('ann')))
    .map(({ username }) => username);
  for (const [text, others, found, most, isIncomplete] of [
    // Words that begin so, and the newest 10,000 users that contain it.
    ['robot1199', [], ['robot11999', 'robot11998'], 10_100, true],
    ['obot1199', [], ['robot11999', 'robot11998'], 10_100, true],
    ['obot1234', [], [], 10_100, true],
    ['robot1234', [], ['robot1234'], 10_100, true],
    ['lee an', [], annLees.toSorted(), 10_100, true],
    // All who can be meant.
    ['obot7', [is('role', 'admin')], ['robot7'], 100, false],
    ['obot7', [is('username', 'robot7')], ['robot7'], 100, false],
    // More begin so than are sorted in memory.
    ['robot', [], ['robot11999', 'robot11998'], 100, true],
    // More contain it.
    ['obot', [], ['robot11999', 'robot11998'], 10_100, true],
  ] as const) {
    const query = { conditions: [is('text', text), ...others], sort };
    const page = () => store.byKeyset(query, { limit: 20 });
    const { items, isIncomplete: was = false } = await page();
    const names = items.map(({ username }) => username);
    t.same(found.length > 2 ? names.toSorted() : names.slice(0, 2), found, text);
    t.equal(was, isIncomplete, `${text}: is incomplete`);
    const plans = await explained(page);
    const beginning = plans.find(({ indexes }) => indexes.includes('search_words_1__id_1'));
    t.match(beginning?.stages, /COUNT|IXSCAN/, `${text}: by words`);
    for (const { documents, stages } of plans) {
      t.ok(documents <= most, `${text}: ${documents} documents, ${stages}`);
      t.notMatch(stages, /COLLSCAN/);
    }
  }
  t.equal(await store.count([is('text', 'robot')]), MANY);
  t.equal(
    await store.count([is('text', 'obot1199')]),
    10,
    'all but robot1199, which is not among the newest',
  );
});
