import {
  createRevocationSet,
  REVOCATION_KINDS,
  type Revocable,
  type RevocationKind,
  readRevocation,
} from '@gatehouse/verify/revocations';
import t from 'tap';
import { pass } from './clock.ts';

const NOW = Math.floor(Date.now() / 1000);
const LATER = NOW + 3600;

function callerWith(change: Partial<Revocable> = {}): Revocable {
  return {
    clientId: 'cli_1',
    person: { id: 'usr_1' },
    issuedAt: Math.floor(Date.now() / 1000),
    tokenId: 'jti_1',
    grantId: undefined,
    epoch: { client: 0, subject: 0 },
    ...change,
  };
}

const EPOCHS = { client: 5, subject: 7 };
const MACHINE = { epoch: EPOCHS, person: undefined };
const OWNED = { ...MACHINE, person: { id: 'usr_9' } };
const HITS: [change: Partial<Revocable>, kind: RevocationKind, id: string, epoch?: number][] = [
  [{}, 'token', 'jti_1'],
  [{ grantId: 'gra_1' }, 'grant', 'gra_1'],
  [{ keyId: 'key_1' }, 'api_key', 'key_1'],
  [{}, 'key', 'kid_1'],
  [{ epoch: EPOCHS }, 'client', 'cli_1', 6],
  [{ epoch: EPOCHS }, 'client', 'cli_1'],
  [{}, 'client', 'cli_1', 1],
  [{ epoch: EPOCHS }, 'subject', 'usr_1', 8],
  [{ epoch: EPOCHS }, 'subject', 'usr_1'],
  [OWNED, 'subject', 'usr_9', 8],
];
const MISSES: typeof HITS = [
  [{}, 'token', 'jti_2'],
  [{ grantId: 'gra_1' }, 'grant', 'gra_9'],
  [{}, 'grant', 'undefined'],
  [{}, 'key', 'kid_2'],
  [{}, 'api_key', 'jti_1'],
  [{ epoch: EPOCHS }, 'client', 'cli_1', 4],
  [{ epoch: EPOCHS }, 'client', 'cli_1', 5],
  [{}, 'client', 'usr_1', 99],
  [{ epoch: EPOCHS }, 'subject', 'usr_1', 6],
  [{ epoch: EPOCHS }, 'subject', 'usr_1', 7],
  [{}, 'subject', 'cli_1', 99],
  [OWNED, 'subject', 'usr_9', 7],
  [MACHINE, 'subject', 'usr_9', 8],
];

t.test('the credentials that each kind revokes', async (t) => {
  for (const [isHit, cases] of [
    [true, HITS],
    [false, MISSES],
  ] as const) {
    for (const [change, kind, id, epoch] of cases) {
      const set = createRevocationSet();
      set.add({ kind, id, ...(epoch === undefined ? {} : { epoch }), expiresAt: LATER });
      t.equal(set.isRevoked(callerWith(change), 'kid_1'), isHit, JSON.stringify([change, kind, id, epoch]));
    }
  }
});

t.test('the higher epoch and the later end of two entries hold', async (t) => {
  const caller = callerWith({ epoch: { client: 0, subject: 5 } });
  const [low, high] = [5, 6].map(
    (epoch) => ({ kind: 'subject', id: 'usr_1', epoch, expiresAt: LATER }) as const,
  );
  const ORDERS = [
    [low, high],
    [high, low],
    [high, low, high, high],
  ];
  for (const [index, order] of ORDERS.entries()) {
    const set = createRevocationSet();
    for (const entry of order) if (entry) set.add(entry);
    t.ok(set.isRevoked(caller), `order ${index}`);
    t.equal(set.size, 1);
  }
  const set = createRevocationSet();
  if (low) set.add(low);
  t.notOk(set.isRevoked(caller));
});

t.test('an entry is forgotten some time after its end', async (t) => {
  const set = createRevocationSet();
  const add = (id: string, expiresAt: number) => set.add({ kind: 'token', id, expiresAt });
  add('short', NOW + 300);
  add('long', LATER);
  add('long', NOW + 300);
  t.equal(set.size, 2);
  await pass(t, 400);
  add('new', LATER);
  t.equal(set.size, 2, 'the later end holds');
  t.ok(set.isRevoked(callerWith({ tokenId: 'long' })));
  t.notOk(set.isRevoked(callerWith({ tokenId: 'short' })));
});

t.test('an entry that is over when it comes still hits what was under way', async (t) => {
  const set = createRevocationSet();
  set.add({ kind: 'api_key', id: 'key_1', expiresAt: NOW - 5 });
  const caller = callerWith({ tokenId: undefined, keyId: 'key_1' });
  t.ok(set.isRevoked(caller));
  await pass(t, 100);
  set.add({ kind: 'token', id: 'a', expiresAt: LATER });
  t.ok(set.isRevoked(caller));
  await pass(t, 100);
  set.add({ kind: 'token', id: 'b', expiresAt: LATER });
  t.notOk(set.isRevoked(caller));
});

t.test('credentials beyond the limit are refused by their time of issue', async (t) => {
  const set = createRevocationSet({ capacity: 3 });
  const add = (id: string, kind: 'token' | 'key' = 'token') => set.add({ kind, id, expiresAt: LATER });
  const isRevoked = (id: string, issuedAt: number, kid?: string) =>
    set.isRevoked(callerWith({ tokenId: id, issuedAt }), kid);
  for (const id of ['first', 'second']) add(id);
  add('leaked', 'key');
  add('first');
  t.equal(set.refusedUntil, undefined);
  t.notOk(isRevoked('another', NOW - 1000));
  await pass(t, 100);
  add('fourth');
  t.equal(set.size, 3);
  t.ok(
    set.refusedUntil !== undefined && Math.abs(set.refusedUntil - NOW - 60) < 5,
    'when the oldest had come',
  );
  t.ok(isRevoked('second', NOW - 1000), 'the one that was dropped');
  t.ok(isRevoked('another', NOW - 1000), 'and with it all from before');
  t.notOk(isRevoked('another', NOW + 70), 'but nothing that came later');
  t.ok(isRevoked('first', NOW + 70), 'which was put once more');
  await pass(t, 100);
  for (const id of ['fifth', 'sixth', 'seventh']) add(id);
  t.equal(set.size, 3);
  t.ok(
    isRevoked('another', NOW + 900, 'leaked'),
    'a withdrawn key is never dropped: it can sign any time of issue',
  );
});

t.test('expired entries are removed before anything is refused', async (t) => {
  const set = createRevocationSet({ capacity: 2 });
  for (const id of ['a', 'b']) set.add({ kind: 'token', id, expiresAt: NOW });
  await pass(t, 200);
  for (const id of ['c', 'd']) set.add({ kind: 'token', id, expiresAt: LATER });
  t.equal(set.size, 2);
  t.equal(set.refusedUntil, undefined);
});

t.test('the size counts every kind, and withdrawn keys are counted once', async (t) => {
  const set = createRevocationSet();
  for (const kind of REVOCATION_KINDS) set.add({ kind, id: '__proto__', expiresAt: LATER });
  t.equal(set.size, REVOCATION_KINDS.length);
  t.equal(set.withdrawnKeys, 1);
  set.add({ kind: 'key', id: '__proto__', expiresAt: LATER });
  t.equal(set.withdrawnKeys, 1);
  set.add({ kind: 'key', id: 'other', expiresAt: LATER });
  t.equal(set.withdrawnKeys, 2);
});

t.test('the latest entry about a credential', async (t) => {
  const set = createRevocationSet({ capacity: 4 });
  const add = (kind: RevocationKind, id: string) => set.add({ kind, id, epoch: 1, expiresAt: LATER });
  const key = callerWith({ tokenId: 'key_1', person: { id: 'usr_9' }, epoch: { client: 9, subject: 9 } });
  add('token', 'another');
  t.equal(set.latestAbout(key), 0);
  add('subject', 'usr_9');
  t.equal(set.latestAbout(key), 2, 'whatever its epoch');
  add('client', 'cli_1');
  add('token', 'key_1');
  t.equal(set.latestAbout(key), 4);
  add('client', 'cli_1');
  t.equal(set.latestAbout(key), 5, 'an entry that comes again');
  t.equal(set.added, 5);
  const other = callerWith({ clientId: 'cli_2', tokenId: undefined, person: undefined });
  t.equal(set.latestAbout(other), 0);
  add('grant', 'another');
  t.not(set.latestAbout(other), 0, 'one that was dropped may have been about it');
});

t.test('another registration outdates what was resolved before', async (t) => {
  const set = createRevocationSet();
  set.refuseIssuedBefore(NOW - 1000);
  const { position } = set;
  set.refuseIssuedBefore(NOW - 1000);
  t.equal(set.position, position, 'the same one');
  set.refuseIssuedBefore(NOW - 500);
  t.ok(set.latestAbout(callerWith()) > position);
  t.equal(set.added, 0);
});

const READ: [label: string, value: unknown, isRead: boolean][] = [
  ['of a token', { kind: 'token', id: 'a', expiresAt: 1 }, true],
  ['with an epoch', { kind: 'subject', id: 'a', epoch: 0, expiresAt: 1.5 }, true],
  ['nothing', undefined, false],
  ['null', null, false],
  ['a text', 'token', false],
  ['a list', [], false],
  ['an unknown kind', { kind: 'tenant', id: 'a', expiresAt: 1 }, false],
  ['a kind of every object', { kind: 'constructor', id: 'a', expiresAt: 1 }, false],
  ['no id', { kind: 'token', expiresAt: 1 }, false],
  ['an empty id', { kind: 'token', id: '', expiresAt: 1 }, false],
  ['an id that is a number', { kind: 'token', id: 1, expiresAt: 1 }, false],
  ['no end', { kind: 'token', id: 'a' }, false],
  ['an end as a text', { kind: 'token', id: 'a', expiresAt: '1' }, false],
  ['an epoch as a text', { kind: 'client', id: 'a', epoch: '1', expiresAt: 1 }, false],
  ['an epoch that is null', { kind: 'client', id: 'a', epoch: null, expiresAt: 1 }, false],
];

t.test('reading what came from outside', async (t) => {
  for (const [label, value, isRead] of READ) {
    t.strictSame(readRevocation(value), isRead ? value : undefined, label);
  }
  const more = { kind: 'token', id: 'a', expiresAt: 1, reason: 'logout' };
  t.strictSame(readRevocation(more), { kind: 'token', id: 'a', expiresAt: 1 }, 'with more than is known');
});
