import type { Condition } from '@gatehouse/domain/list-query';
import { explainQueries } from '@gatehouse/testing/explain';
import { LRUCache } from 'lru-cache';
import t from 'tap';
import {
  type ApplicationField,
  type ClientSecret,
  clientSecretOf,
  findSecret,
  MAX_APPLICATIONS,
  makeSecret,
  newApplication,
} from '../../../../src/core/applications/application.ts';
import { createApplicationStore } from '../../../../src/core/applications/store/application-store.ts';
import { assertIndexed, withStores } from '../../../store-set-up.ts';

const { connection, store } = await withStores(t, (it) => ({
  store: createApplicationStore(it, new LRUCache({ max: 10 })),
}));
const collection = connection.collection<{ _id: string }>('applications');
const USE = { at: new Date(), address: null };
let count = 0;

function secret(text = makeSecret().secret, expiresAt: Date | null = null): ClientSecret {
  count += 1;
  return { ...clientSecretOf(text), id: `sec_${count}`, expiresAt };
}

function draft(over: object = {}) {
  count += 1;
  const id = `app_${String(count).padStart(4, '0')}`;
  return { id, name: 'An app', type: 'machine', owner: 'usr_ann', scopes: ['read:data'], ...over } as const;
}

async function insert(over: object = {}, first?: ClientSecret) {
  const application = newApplication(draft(over), first);
  await store.insertIfAbsent(application);
  return application;
}

t.test('an application comes back as it was stored', async (t) => {
  const plain = await insert();
  t.strictSame(await store.findNow(plain.id), plain);
  const full = await insert(
    {
      type: 'web',
      redirectUris: ['https://app.example.org/cb'],
      postLogoutRedirectUris: ['https://app.example.org/'],
      profiles: { v1_users: 'E' },
      legacyImplicit: true,
      jwks: { keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y' }] },
      backchannelLogoutUri: 'https://app.example.org/out',
      dpopBound: true,
      requirePushedRequests: true,
      requireSecondFactor: true,
      idTokenAlgorithm: 'ES256',
      idTokenProfileClaims: false,
      securityProfile: 'fapi2',
      trusted: true,
    },
    secret(),
  );
  t.strictSame(await store.findNow(full.id), full);
  t.equal(await store.insertIfAbsent(full), false);
  t.equal(await store.findById('app_none'), undefined);
});

t.test('parallel creations keep to the limit of an owner, and deleted ones do not count', async (t) => {
  const owner = 'usr_limit';
  const most = Array.from({ length: MAX_APPLICATIONS - 2 }, () => newApplication(draft({ owner })));
  for (const application of most) await store.insert(application);
  const add = () => store.insert(newApplication(draft({ owner })));
  const [first, ...others] = [newApplication(draft({ owner })), newApplication(draft({ owner }))];
  t.same(await Promise.all([first, ...others].map((it) => store.insert(it))), [true, true]);
  t.equal(await add(), false);
  await store.markDeleted(first.id);
  t.same((await Promise.all([add(), add()])).sort(), [false, true]);
  await assertIndexed(t, connection, add);
});

t.test('own changes are seen at once, those of others within seconds or after a notification', async (t) => {
  const application = await insert();
  await store.findById(application.id);
  await store.change(application, { name: 'Changed here' }, false);
  t.match(await store.findById(application.id), { name: 'Changed here' });
  await collection.updateOne({ _id: application.id }, { $set: { name: 'Changed elsewhere' } });
  t.match(await store.findById(application.id), { name: 'Changed here' });
  store.forget(application.id);
  t.match(await store.findById(application.id), { name: 'Changed elsewhere' });
  await collection.updateOne({ _id: application.id }, { $set: { name: 'Once more' } });
  t.match(await store.findNow(application.id), { name: 'Once more' });
  t.match(await store.findById(application.id), { name: 'Once more' });
});

t.test('an application that changed while it was read is not cached', async (t) => {
  const { id } = await insert();
  const reading = store.findNow(id);
  store.forget(id);
  await reading;
  await collection.updateOne({ _id: id }, { $set: { name: 'Changed' } });
  t.match(await store.findById(id), { name: 'Changed' });
});

t.test('one of two changes to the same state is made', async (t) => {
  const application = await insert();
  const done = await Promise.all(
    Array.from({ length: 10 }, (_, i) => store.change(application, { name: `N${i}` }, false)),
  );
  t.equal(done.filter((it) => it !== undefined).length, 1);
});

t.test('optional values can be removed', async (t) => {
  const application = await insert({ backchannelLogoutUri: 'https://a.example/x', jwks: { keys: [] } });
  const changes = { backchannelLogoutUri: undefined, jwks: undefined };
  const changed = await store.change(application, changes, false);
  t.match(changed, { backchannelLogoutUri: undefined, jwks: undefined });
  t.notOk('jwks' in ((await collection.findOne({ _id: application.id })) ?? {}));
});

t.test('never more than two live secrets, and expired ones make room', async (t) => {
  const { id } = await insert();
  const added = await Promise.all(
    Array.from({ length: 10 }, () => store.addSecret({ id, owner: 'usr_ann' }, secret())),
  );
  t.equal(added.filter((it) => it === true).length, 2);
  t.equal(added.filter((it) => it === false).length, 8);
  const [first] = (await store.findNow(id))?.secrets ?? [];
  const removed = await Promise.all(Array.from({ length: 5 }, () => store.removeSecret(id, first?.id ?? '')));
  t.equal(removed.filter(Boolean).length, 1);
  const gone = 'an expired secret';
  t.equal(await store.addSecret({ id, owner: 'usr_ann' }, secret(gone, new Date(Date.now() - 1))), true);
  const application = await store.findNow(id);
  t.equal(application && findSecret(application, gone), undefined, 'it does not count');
  t.equal(await store.addSecret({ id, owner: 'usr_ann' }, secret('another one')), true, 'and makes room');
  const after = await store.findById(id);
  t.ok(after && findSecret(after, 'another one'));
  t.equal(await store.addSecret({ id: 'app_none', owner: null }, secret()), undefined);
});

t.test('the last use of a secret, and of the application, only moves on', async (t) => {
  const first = secret();
  const { id } = await insert({}, first);
  const later = { at: new Date('2026-02-02T00:00:00Z'), address: '192.0.2.2' };
  const earlier = { at: new Date('2026-01-01T00:00:00Z'), address: '192.0.2.1' };
  for (const use of [earlier, later, earlier]) {
    await store.credentialUsed(id, 'secrets', first.id, use);
    await store.used(id, use);
  }
  const { secrets, lastUse } = (await store.findNow(id)) ?? {};
  t.same([secrets?.[0]?.lastUse, lastUse], [later, later]);
});

t.test('a deletion or a loss stays marked until its revocation is written', async (t) => {
  const application = await insert();
  const changed = await store.change(application, { scopes: ['read:users'] }, true);
  t.equal(changed?.epoch, 1);
  const waiting = async () =>
    (await store.awaitingRevocation()).filter((it) => it.application.id === application.id);
  t.match(await waiting(), [{ application: { epoch: 1 }, over: false }]);
  t.equal((await store.change(changed ?? application, {}, true))?.epoch, 2);
  await store.revocationWritten(application.id, 1);
  t.equal((await waiting()).length, 1, 'the later one is still to be written');
  await store.revocationWritten(application.id, 2);
  t.same(await waiting(), []);
  await store.markDeleted(application.id);
  t.equal(await store.findById(application.id), undefined);
  t.equal(await store.findNow(application.id), undefined);
  t.equal(await store.addSecret(application, secret()), undefined);
  t.same(
    await store
      .list({ owner: 'usr_ann', after: 'app_0000', limit: 1000 })
      .then((list) => list.filter(({ id }) => id === application.id)),
    [],
  );
  t.match(await waiting(), [{ over: true }]);
  t.equal((await store.markDeleted(application.id))?.epoch, 4, 'can be tried again');
  await store.revocationWritten(application.id, 4);
  t.equal(await collection.findOne({ _id: application.id }), null);
  t.equal(await store.markDeleted(application.id), undefined);
});

t.test('every query uses an index', (t) =>
  assertIndexed(t, connection, async () => {
    const application = await insert({}, secret());
    await store.findNow(application.id);
    await store.list({ owner: 'usr_ann', after: 'app_1', limit: 5 });
    await store.list({ owner: 'usr_ann', limit: 5 });
    await store.list({ after: 'app_1', limit: 5 });
    const changed = await store.change(application, { name: 'x' }, true);
    await store.addSecret(application, secret());
    await store.credentialUsed(application.id, 'secrets', application.secrets[0]?.id ?? '', USE);
    await store.used(application.id, USE);
    await store.removeSecret(application.id, application.secrets[0]?.id ?? '');
    await store.raiseEpochsOf('usr_ann', 5);
    await store.awaitingRevocation();
    await store.awaitingRevocation('usr_ann');
    await store.markDeleted(application.id);
    await store.revocationWritten(application.id, (changed?.epoch ?? 0) + 2);
  }),
);

t.test('lists read one index', async (t) => {
  const { id } = await insert({ name: 'Lighthouse keeper', owner: 'usr_lin' });
  const list = (conditions: Condition<ApplicationField>[], limit = 5) =>
    store.source.byKeyset({ conditions, sort: { field: 'id', descending: false } }, { limit });
  const named = (text: string) => ({ field: 'name', operator: 'eq', values: [text] }) as const;
  const owned = { field: 'owner', operator: 'eq', values: ['usr_lin'] } as const;
  t.same(
    (await list([named('light')])).items.map((it) => it.id),
    [id],
  );
  t.equal(await store.source.count([named('keep'), owned]), 1);
  for (const [conditions, index] of [
    [[], '_id_'],
    [[owned], 'owner_1__id_1'],
    [[owned, named('light')], 'owner_1__id_1'],
    [[named('lighthouse keep')], 'words_1'],
  ] as const) {
    const plans = await explainQueries(connection, () => list([...conditions]));
    t.same([...new Set(plans.flatMap(({ indexes }) => indexes))], [index]);
    t.notMatch(plans.map(({ stages }) => stages).join(), 'COLLSCAN');
  }
});
