// `npm run bench:lists [-- USERS]`: what a page of a long list costs, at its start, in its middle and at its end. Fills
// a database of its own with so many users (1,000,000 unless told) and prints the times in milliseconds.
import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '@gatehouse/core/ids';
import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import type { Condition, ListQuery, Position } from '@gatehouse/domain/list-query';
import { startTestMongo } from '@gatehouse/testing/test-mongo';
import type { UserDocument } from '../src/store/user-document.ts';
import { createUserStore } from '../src/store/user-store.ts';
import type { UserField } from '../src/user.ts';

const total = Number(process.argv[2] ?? 1_000_000);
const LIMIT = 20;
const WARM_UP = 10;
const ROUNDS = 60;
const BATCH = 5000;
const BEGIN = Date.parse('2024-01-01T00:00:00Z');
/** People who came within a second or two of each other have the same date. */
const SECOND = 1000;

/** By what lists are sorted, as stored, and the index of it. */
const PLACES: Partial<Record<UserField, [string, string]>> & { id: [string, string] } = {
  id: ['_id', '_id_'],
  username: ['username_key', 'living_username_key'],
  createdAt: ['created_at', 'created_at_1__id_1'],
  role: ['role', 'role_1__id_1'],
};

/** Those of which the index holds the id, too. */
const INDEX_WITH_ID = ['_id', 'created_at', 'role'];

const mongo = await startTestMongo();
const logger = createLogger({ name: 'bench', level: 'warn', readable: true });
const database = createDatabase({ uri: mongo.uri, name: 'users', logger });
const store = createUserStore(database.connection);

/** One of a hundred is an admin or an editor, one of twenty inactive, one of ten without an address. */
function documentOf(i: number): UserDocument {
  const id = newId('usr');
  // Not in the order of the ids, as with real names.
  const name = `${((i * 7919) % total).toString(36)}.${i.toString(36)}`;
  const at = new Date(BEGIN + Math.floor(i / 3) * SECOND);
  return {
    _id: id,
    username: `User.${name}`,
    username_key: `user.${name}`,
    email: i % 10 === 0 ? null : `user.${name}@example.org`,
    email_key: i % 10 === 0 ? `\0${id}` : `user.${name}@example.org`,
    email_verified: i % 3 === 0,
    name: i % 4 === 0 ? `User Number ${i}` : null,
    first_name: 'User',
    last_name: `Number ${i}`,
    phone: '+49 30 1234567',
    picture: `https://example.org/pictures/${id}.png`,
    role: i % 200 === 0 ? 'admin' : i % 200 === 1 ? 'editor' : 'user',
    status: i % 20 === 0 ? 'inactive' : 'active',
    password_hash: `$argon2id$v=19$m=19456,t=2,p=1$${'x'.repeat(22)}$${'y'.repeat(43)}`,
    epoch: 0,
    sign_in_epoch: 0,
    version: 1,
    created_at: at,
    updated_at: new Date(at.getTime() + (i % 1000) * 60 * SECOND),
    outbox: [],
    search_text: '',
    search_words: [],
  };
}

async function fill(): Promise<void> {
  const begin = performance.now();
  const collection = database.connection.collection<UserDocument>('users');
  for (let i = 0; i < total; i += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, total - i) }, (_, n) => documentOf(i + n));
    await collection.insertMany(batch, { ordered: false });
    if ((i / BATCH) % 40 === 39) process.stderr.write(`${i + BATCH} users\n`);
  }
  print(`${total} users`, `written in ${((performance.now() - begin) / 1000).toFixed(0)} s`);
}

function print(name: string, text: string): void {
  process.stdout.write(`${name.padEnd(44)} ${text}\n`);
}

type Times = { p50: number; p90: number };

/** Of several things, in turns, so that whatever else the machine does falls on all alike. */
async function timesOf<K extends string>(runs: Record<K, () => Promise<unknown>>): Promise<Record<K, Times>> {
  const entries = Object.entries(runs) as [K, () => Promise<unknown>][];
  const times = new Map(entries.map(([name]) => [name, [] as number[]]));
  for (let i = -WARM_UP; i < ROUNDS; i += 1) {
    for (const [name, run] of entries) {
      const begin = performance.now();
      await run();
      if (i >= 0) times.get(name)?.push(performance.now() - begin);
    }
  }
  const at = (all: number[], share: number) => all[Math.min(ROUNDS - 1, Math.floor(ROUNDS * share))] ?? 0;
  const summary = [...times].map(([name, all]) => {
    all.sort((a, b) => a - b);
    return [name, { p50: at(all, 0.5), p90: at(all, 0.9) }];
  });
  return Object.fromEntries(summary);
}

const text = ({ p50, p90 }: Times) => `p50 ${p50.toFixed(2)} ms, p90 ${p90.toFixed(2)} ms`;

/** The pages of a list at its start, in its middle and at its end, and how the last ones compare with the first. */
async function measurePages(name: string, query: ListQuery<UserField>): Promise<void> {
  const reversed = { ...query, sort: { ...query.sort, descending: !query.sort.descending } };
  const middle = await positionAt(query, 0.5);
  const almostLast = (await store.byKeyset(reversed, { limit: 3 * LIMIT })).last;
  const second = (await store.byKeyset(query, { limit: LIMIT })).last;
  const from = (position: Position | undefined, direction: 'next' | 'previous') => () =>
    store.byKeyset(query, {
      limit: LIMIT,
      ...(position && { from: { position, direction, inclusive: false } }),
    });
  const times = await timesOf({
    'first page': from(undefined, 'next'),
    'start, forwards': from(second, 'next'),
    'start, backwards': from(second, 'previous'),
    'middle, forwards': from(middle, 'next'),
    'middle, backwards': from(middle, 'previous'),
    'end, forwards': from(almostLast, 'next'),
    'end, backwards': from(almostLast, 'previous'),
  });
  for (const [place, each] of Object.entries(times)) print(`${name}: ${place}`, text(each));
  const ratio = (direction: 'forwards' | 'backwards') =>
    (times[`end, ${direction}`].p50 / times[`start, ${direction}`].p50).toFixed(2);
  print(`${name}: end / start`, `forwards ${ratio('forwards')}, backwards ${ratio('backwards')}`);
}

/** The position of the row that has this share of the list before it, which no page by offset may reach. */
async function positionAt(
  { conditions, sort: { field } }: ListQuery<UserField>,
  share: number,
): Promise<Position | undefined> {
  const [stored, index] = PLACES[field] ?? PLACES.id;
  const [status] = conditions.map(({ values }) => values[0]);
  const filter =
    status === undefined ? { [stored]: { $gt: stored === 'created_at' ? new Date(0) : '' } } : { status };
  const collection = database.connection.collection('users');
  const found = await collection
    .find(filter)
    .hint(status === undefined ? index : 'status_1__id_1')
    // From the index alone: half of the documents are not read.
    .project({ _id: 0, [stored]: 1, ...(INDEX_WITH_ID.includes(stored) ? { _id: 1 } : {}) })
    .skip(Math.floor((await store.count(conditions)) * share))
    .limit(1)
    .toArray();
  const [document] = found;
  if (document === undefined) return undefined;
  const value = stored === '_id' ? null : document[stored];
  return { value: value instanceof Date ? value.getTime() : value, id: String(document._id ?? '') };
}

async function measureCount(name: string, conditions: readonly Condition<UserField>[]): Promise<void> {
  // Longer than any count is kept.
  await sleep(6000);
  const begin = performance.now();
  const count = await store.count(conditions);
  const cold = performance.now() - begin;
  const { warm } = await timesOf({ warm: () => store.count(conditions) });
  print(`count ${name}: ${count}`, `first ${cold.toFixed(0)} ms, then ${text(warm)}`);
}

try {
  await database.start();
  await fill();
  const active: Condition<UserField>[] = [{ field: 'status', operator: 'eq', values: ['active'] }];
  const sorted = (field: UserField) => ({ field, descending: false });
  for (const field of ['id', 'username', 'createdAt', 'role'] as const) {
    await measurePages(`by ${field}`, { conditions: [], sort: sorted(field) });
  }
  await measurePages('active, by id', { conditions: active, sort: sorted('id') });
  for (const field of ['id', 'createdAt'] as const) {
    const query = { conditions: [], sort: sorted(field) };
    const by = (offset: number) => () => store.byOffset(query, { limit: LIMIT, offset });
    const times = await timesOf({ 'offset 0': by(0), 'offset 10000': by(10_000) });
    for (const [offset, each] of Object.entries(times)) print(`by ${field}, ${offset}`, text(each));
  }
  await measureCount('of everybody', []);
  await measureCount('of who is active', active);
  const users: Condition<UserField> = { field: 'role', operator: 'eq', values: ['user'] };
  await measureCount('of active users', [users, ...active]);
} finally {
  await database.stop();
  await mongo.stop();
}
