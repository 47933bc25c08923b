import { newId } from '@gatehouse/core/ids';
import { type Counts, createCounts } from '@gatehouse/data/counts';
import { foldedKey } from '@gatehouse/domain/folded-key';
import type { Condition, FilterOperator, ListQuery, Position } from '@gatehouse/domain/list-query';
import { applyMigrations } from '@gatehouse/testing/apply-migrations';
import { explainQueries, monitored } from '@gatehouse/testing/explain';
import { repetitions } from '@gatehouse/testing/repetitions';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';
import { USER_MIGRATIONS } from '../../src/store/user-migrations.ts';
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

/** Goes through the whole list by positions; fails when a page says something wrong about what is beside it. */
async function walk(
  t: { fail(message: string): unknown },
  query: ListQuery<UserField>,
  direction: 'next' | 'previous',
  limit: number,
): Promise<string[]> {
  const all = expected(query);
  const seen: string[] = [];
  let position: Position | undefined;
  if (direction === 'previous') {
    // From behind the last one: the row itself belongs to the page.
    const last = (await store.byKeyset(query, { limit: PEOPLE })).last;
    if (last === undefined) return [];
    position = last;
  }
  for (let inclusive = true; ; inclusive = false) {
    const from = position === undefined ? {} : { from: { position, direction, inclusive } };
    const rows = await store.byKeyset(query, { limit, ...from });
    const ids = idsOf(rows.items);
    if (direction === 'next') seen.push(...ids);
    else seen.unshift(...ids);
    const [before, after] =
      direction === 'next'
        ? [seen.length > ids.length, seen.length < all.length]
        : [seen.length < all.length, seen.length > ids.length];
    if (rows.hasPrevious !== before || rows.hasNext !== after)
      t.fail(`what is beside a page: ${named(query)}`);
    const more = direction === 'next' ? rows.hasNext : rows.hasPrevious;
    position = direction === 'next' ? rows.last : rows.first;
    if (!more || position === undefined || seen.length > PEOPLE) return seen;
  }
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
    const all = expected(query);
    t.equal(all.length, PEOPLE);
    for (const limit of [4, 100]) {
      t.same(await walk(t, query, 'next', limit), all, `${named(query)}, forwards by ${limit}`);
      t.same(await walk(t, query, 'previous', limit), all, `${named(query)}, backwards by ${limit}`);
    }
    for (const [offset, limit] of [
      [0, 20],
      [40, 20],
      [49, 1],
      [50, 20],
      [500, 20],
    ] as const) {
      const rows = await store.byOffset(query, { offset, limit });
      t.same(idsOf(rows.items), all.slice(offset, offset + limit), `${named(query)}, offset ${offset}`);
      t.match(rows, { hasNext: offset + limit < PEOPLE, hasPrevious: offset > 0 });
    }
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
    for (const { sort } of [...sorts, ...sorts].slice(i % length, (i % length) + repetitions(length))) {
      const query = { conditions: [condition], sort };
      const all = expected(query);
      const [seen, back, { items }] = await Promise.all([
        walk(t, query, 'next', 20),
        walk(t, query, 'previous', 20),
        store.byOffset(query, { offset: 5, limit: 11 }),
      ]);
      if (String(seen) !== String(all)) t.same(seen, all, named(query));
      if (String(back) !== String(all)) t.same(back, all, `${named(query)}, backwards`);
      if (String(idsOf(items)) !== String(all.slice(5, 16))) t.fail(`${named(query)}, by offset`);
    }
    const all = expected({ conditions: [condition], sort: { field: 'id', descending: false } });
    t.equal(
      await store.count([condition]),
      all.length,
      named({ conditions: [condition], sort: { field: 'id', descending: false } }),
    );
  }
});

t.test('several conditions at once', async (t) => {
  const [some, other] = [everybody[20], everybody[44]] as [User, User];
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
      { field: 'role', operator: 'ne', values: ['user'] },
      { field: 'role', operator: 'ne', values: ['admin'] },
    ],
    [
      { field: 'role', operator: 'eq', values: ['user'] },
      { field: 'role', operator: 'eq', values: ['admin'] },
    ],
    [{ field: 'role', operator: 'eq', values: ['nobody'] }],
    [
      { field: 'createdAt', operator: 'gte', values: [some.createdAt] },
      { field: 'createdAt', operator: 'gt', values: [some.createdAt] },
      { field: 'createdAt', operator: 'lt', values: [other.createdAt] },
      { field: 'createdAt', operator: 'ne', values: [new Date(other.createdAt.getTime() - 1000)] },
    ],
    [
      { field: 'createdAt', operator: 'lt', values: [some.createdAt] },
      { field: 'createdAt', operator: 'gt', values: [other.createdAt] },
    ],
    [
      { field: 'id', operator: 'gt', values: [some.id] },
      { field: 'id', operator: 'lte', values: [other.id] },
      { field: 'email', operator: 'lt', values: ['b'] },
    ],
    [
      { field: 'id', operator: 'in', values: idsOf(everybody.slice(10, 40)) },
      { field: 'status', operator: 'eq', values: ['active'] },
    ],
    [
      { field: 'username', operator: 'in', values: everybody.slice(10, 40).map(({ username }) => username) },
      { field: 'updatedAt', operator: 'eq', values: [some.updatedAt] },
    ],
    [{ field: 'email', operator: 'eq', values: [''] }],
    [{ field: 'username', operator: 'eq', values: ['$ne'] }],
  ];
  for (const conditions of several) {
    for (const { sort } of lists) {
      const query = { conditions, sort };
      const all = expected(query);
      if (String(await walk(t, query, 'next', 3)) !== String(all)) t.fail(named(query));
      if (String(await walk(t, query, 'previous', 3)) !== String(all)) t.fail(`${named(query)}, backwards`);
    }
    const query: ListQuery<UserField> = { conditions, sort: { field: 'id', descending: false } };
    t.equal(await store.count(conditions), expected(query).length, named(query));
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
  let counted = 0;
  const counts = createCounts({ slowMs: 0 });
  const counting: Counts = {
    ...counts,
    count: (key, run) =>
      counts.count(key, () => {
        counted += 1;
        return run();
      }),
  };
  const { store: counter } = await startTestDatabase(t, {
    define: (connection) => createUserStore(connection, counting),
  });
  const active: Condition<UserField>[] = [{ field: 'status', operator: 'eq', values: ['active'] }];
  const inactive: Condition<UserField>[] = [{ field: 'status', operator: 'eq', values: ['inactive'] }];
  const all = async () => [
    await counter.count([]),
    await counter.count(active),
    await counter.count(inactive),
  ];
  const [first, second] = [everybody[1], everybody[2]] as [User, User];
  await counter.insert({ ...first, passwordHash: null, status: 'active' });
  t.same(await all(), [1, 1, 0]);
  t.same(await all(), [1, 1, 0]);
  t.equal(counted, 3, 'kept');
  await counter.insert({ ...second, passwordHash: null, status: 'active' });
  t.same(await all(), [2, 2, 0]);
  await counter.update(first.id, { status: 'inactive' });
  t.same(await all(), [2, 1, 1]);
  await counter.changeSecurity(second.id, { reason: 'status', status: 'inactive' });
  t.same(await all(), [2, 0, 2]);
  await counter.remove(first.id);
  t.same(await all(), [1, 0, 1]);
  await t.rejects(counter.remove(first.id), { message: 'There is no such user.' });
  t.same(await all(), [1, 0, 1]);
  counted = 0;
  await t.rejects(counter.insert({ ...second, passwordHash: null }));
  t.same(await all(), [1, 0, 1]);
  t.equal(counted, 3, 'what fails may have happened');
});

t.test('a position of another list, or a malformed one, is rejected', async (t) => {
  const bad: [UserField, Position['value']][] = [
    ['id', 'x'],
    ['username', null],
    ['username', 1],
    ['email', true],
    ['role', 5],
    ['createdAt', 'yesterday'],
    ['createdAt', 9e15],
    ['updatedAt', false],
  ];
  for (const [field, value] of bad) {
    for (const conditions of [
      [],
      [{ field: 'id', operator: 'eq', values: ['x'] }],
    ] as Condition<UserField>[][]) {
      const query = { conditions, sort: { field, descending: false } };
      const from = { position: { value, id: 'x' }, direction: 'next', inclusive: false } as const;
      const failure = store.byKeyset(query, { limit: 5, from }).catch((error: unknown) => error);
      t.match(await failure, { kind: 'invalid', details: [{ field: 'cursor' }] }, `${field} ${value}`);
    }
  }
  const odd: [UserField, Position['value'], string][] = [
    ['role', 'nobody', ''],
    ['role', null, '\0'],
    ['status', '\ud800', '\ud800'],
    ['createdAt', null, 'x'],
    ['createdAt', -8.64e15, 'x'],
    ['createdAt', 8.64e15, 'x'],
    ['createdAt', 0.5, 'x'],
    ['id', null, '$ne'],
    ['email', '', 'x'],
  ];
  for (const [field, value, id] of odd) {
    for (const direction of ['next', 'previous'] as const) {
      const query = { conditions: [], sort: { field, descending: false } };
      const from = { position: { value, id }, direction, inclusive: true };
      const rows = await store.byKeyset(query, { limit: 100, from });
      t.ok(rows.items.length <= PEOPLE, `${field} ${value} is answered`);
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
  const byId = { field: 'id', descending: false } as const;
  const cases: [Condition<UserField>[], string][] = [
    [[{ field: 'role', operator: 'eq', values: ['editor'] }], 'role_1__id_1'],
    [[{ field: 'role', operator: 'in', values: ['editor', 'admin'] }], 'role_1__id_1'],
    [[{ field: 'role', operator: 'ne', values: ['user'] }], 'role_1__id_1'],
    [[{ field: 'status', operator: 'eq', values: ['inactive'] }], 'status_1__id_1'],
    [
      [
        { field: 'role', operator: 'eq', values: ['user'] },
        { field: 'status', operator: 'eq', values: ['inactive'] },
      ],
      'status_1__id_1',
    ],
    [
      [
        { field: 'status', operator: 'eq', values: ['active'] },
        { field: 'role', operator: 'eq', values: ['admin'] },
      ],
      'role_1__id_1',
    ],
  ];
  for (const [conditions, index] of cases) {
    for (const descending of [false, true]) {
      const query = { conditions, sort: { ...byId, descending } };
      const [position] = await positionsIn(query);
      for (const from of [
        {},
        { from: { position: position as Position, direction: 'next', inclusive: false } } as const,
      ]) {
        const plans = await explained(() => store.byKeyset(query, { limit: 2, ...from }));
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

t.test('a search reads what it finds if that is little, and else the list in its order', async (t) => {
  const collection = connection.collection('users');
  const MANY = 3000;
  const copies = Array.from({ length: MANY }, (_, i) => ({
    ...{ _id: newId('usr') as never, username: `robot${i}`, username_key: `robot${i}`, email: null },
    ...{ email_key: `\0robot${i}`, role: 'user', status: 'active', password_hash: null, version: 1 },
    ...{ created_at: new Date(BEGIN + i), updated_at: new Date(BEGIN + i), outbox: [] },
  }));
  await collection.insertMany(copies);
  await applyMigrations(connection, USER_MIGRATIONS);
  t.equal(await collection.countDocuments({ search_texts: { $type: 'array' } }), PEOPLE + MANY, 'migrated');

  const sort = { field: 'createdAt', descending: true } as const;
  const pageOf = (text: string) => {
    const query = { conditions: [{ field: 'text', operator: 'eq', values: [text] } as const], sort };
    return store.byKeyset(query, { limit: 20 });
  };
  const few = await pageOf('obot299');
  t.same(
    few.items.map(({ username }) => username),
    [
      'robot2999',
      'robot2998',
      'robot2997',
      'robot2996',
      'robot2995',
      'robot2994',
      'robot2993',
      'robot2992',
      'robot2991',
      'robot2990',
      'robot299',
    ],
  );
  t.equal((await pageOf('obot')).items[0]?.username, 'robot2999');
  for (const [text, most] of [
    ['obot299', 40],
    ['obot', 2200],
  ] as const) {
    for (const { documents, keys, stages } of await explained(() => pageOf(text))) {
      t.ok(documents <= 100 && keys <= most, `${text}: ${documents} documents, ${keys} keys, ${stages}`);
    }
  }
});
