import { setTimeout as sleep } from 'node:timers/promises';
import { createLocalBroadcast } from '@gatehouse/events/local-broadcast';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { createDerivedTokenStore } from '../../../src/core/revocations/derived-token-store.ts';
import { createResourceTokenStore } from '../../../src/core/revocations/resource-token-store.ts';
import { createRevocationStore } from '../../../src/core/revocations/revocation-store.ts';
import { createRevocations, type RevocationPage } from '../../../src/core/revocations/revocations.ts';
import { assertIndexed, withStores } from '../../store-set-up.ts';

const { connection, store, resourceTokens, derivedTokens, logger } = await withStores(t, (it) => ({
  store: createRevocationStore(it),
  resourceTokens: createResourceTokenStore(it),
  derivedTokens: createDerivedTokenStore(it),
}));
const broadcast = createLocalBroadcast();
const options = { store, resourceTokens, derivedTokens, broadcast, tokenLifetime: 3600, logger };
const revocations = createRevocations({ ...options, pageSize: 3 });

const put = (...ids: string[]) => revocations.write(ids.map((id) => ({ kind: 'token', id })));
const idsOf = ({ revocations }: RevocationPage) => revocations.map(({ id }) => id);

/** All pages from here on, with what happens between the first and the second. */
async function read(since?: string, meanwhile = async () => {}) {
  const pages = [await revocations.list(since)];
  await meanwhile();
  for (let last = pages[0]; last?.more; last = pages.at(-1)) pages.push(await revocations.list(last.as_of));
  return { ids: pages.flatMap(idsOf), pages, asOf: pages.at(-1)?.as_of };
}

t.test('the list comes in pages, and what is written meanwhile is on one of them', async (t) => {
  t.match(await revocations.list(undefined), { revocations: [], more: false });
  const some = ['a', 'with spaces in  it', 'c', 'd', 'e', 'f', 'g'];
  await put(...some);
  const { ids, pages } = await read(undefined, () => put('late', 'a'));
  t.ok(pages.every(({ revocations }) => revocations.length <= 3));
  t.same([...new Set(ids)].sort(), [...some, 'late'].sort());
  const { ids: later } = await read((await read()).asOf, () => put('h', 'i'));
  for (const id of ['h', 'i', 'late']) t.ok(later.includes(id), `${id}, within the overlap`);
});

t.test('entries of one moment are neither lost nor repeated', async (t) => {
  const entries = connection.collection('revocations');
  await entries.updateMany({}, { $set: { updated_at: new Date() } });
  const { ids } = await read();
  t.equal(ids.length, await entries.countDocuments());
  t.equal(new Set(ids).size, ids.length);
});

t.test('as_of is as old as the first page: what overtook the others comes with the next fetch', async (t) => {
  const entries = connection.collection('revocations');
  const long = (seconds: number) => new Date(Date.now() - seconds * 1000);
  await entries.updateMany({}, { $set: { updated_at: long(100) } });
  const first = await revocations.list(undefined);
  t.equal(first.more, true);
  await put('later');
  const { asOf } = await read(first.as_of);
  // Another replica began to write it while the first page was read, and it shows only now.
  await entries.updateOne({ ref: 'c' }, { $set: { updated_at: long(99) } });
  t.ok((await read(asOf)).ids.includes('c'));
});

t.test('a position that cannot be read is the beginning', async (t) => {
  const all = (await read()).ids;
  const now = new Date().toISOString();
  for (const text of ['', 'yesterday', ' ', `${now} yesterday token a`]) {
    t.same((await read(text)).ids, all, text);
  }
});

t.test('the only writer looks for missed announcements only after it has written', async (t) => {
  let looks = 0;
  let isAway = false;
  const announced: unknown[] = [];
  const onlyWriter = createRevocations({
    ...options,
    isOnlyWriter: true,
    store: {
      ...store,
      pending() {
        looks += 1;
        return store.pending();
      },
    },
    broadcast: {
      ...broadcast,
      async publish(_subject, message) {
        const { revocation } = Object(message) as { revocation?: { id: string } };
        if (isAway && revocation !== undefined) throw new Error('away');
        announced.push(revocation?.id);
      },
    },
  });
  t.teardown(() => onlyWriter.stop());
  await onlyWriter.start();
  await until(() => looks > 0, 5000);
  await sleep(2500);
  const before = looks;
  await sleep(2500);
  t.equal(looks, before, 'not at rest');
  isAway = true;
  await onlyWriter.write([{ kind: 'token', id: 'missed' }]);
  await until(() => looks > before, 5000);
  t.notOk(announced.includes('missed'));
  isAway = false;
  await until(() => announced.includes('missed'), 5000);
});

t.test('a process that stops says so, unless it has something left to announce', async (t) => {
  for (const isAway of [false, true]) {
    const sent: { n: number; ended?: true }[] = [];
    const stopping = createRevocations({
      ...options,
      broadcast: {
        ...broadcast,
        async publish(_subject, message) {
          if (isAway && Object(message).revocation !== undefined) throw new Error('away');
          sent.push(Object(message));
        },
      },
    });
    await stopping.start();
    await stopping.write([{ kind: 'token', id: `last ${isAway}` }]);
    await stopping.stop();
    const ended = sent.findIndex((message) => message.ended);
    t.equal(ended, isAway ? -1 : sent.length - 1, 'at last');
  }
});

t.test('every query uses an index', (t) =>
  assertIndexed(t, connection, async () => {
    await store.issuingUntil(new Date());
    await put('indexed');
    await read((await revocations.list(undefined)).as_of);
    await store.pending();
  }),
);
