import { setTimeout as sleep } from 'node:timers/promises';
import { createRevocationSet } from '@gatehouse/verify/revocations';
import t from 'tap';
import { AWAY, LATER, revocationOf, setUp, until } from './revocation-feed-set-up.ts';

t.test('a snapshot, then what is broadcast', async (t) => {
  const seen: string[] = [];
  const { feed, identity, publish, isRevoked, lines } = setUp(t, { onRevocation: ({ id }) => seen.push(id) });
  identity.known = [revocationOf('old')];
  t.throws(() => feed.check(), AWAY, 'before it is loaded');
  t.equal(feed.unready(), 'the revocations are not loaded yet');
  await feed.start();
  feed.check();
  t.equal(feed.unready(), undefined);
  t.ok(isRevoked('old'));
  const publisher = publish('a');
  t.notOk(isRevoked('new'));
  publisher.next(revocationOf('new'));
  t.ok(isRevoked('new'), 'at once');
  await sleep(300);
  t.strictSame(identity.fetches, [undefined], 'nothing is fetched as long as nothing is missing');
  t.strictSame(seen, ['old', 'new']);
  t.strictSame(lines, []);
});

t.test('the metrics say how far it may be behind', async (t) => {
  const { feed, identity, publish } = setUp(t);
  const behind = () => feed.metrics()[0]?.samples[0]?.value;
  t.equal(behind(), undefined, 'before it is loaded');
  await feed.start();
  const publisher = publish('a');
  await sleep(300);
  t.ok(Number(behind()) < 0.1, `${behind()} s with heartbeats`);
  publisher.stop();
  await sleep(300);
  t.ok(Number(behind()) < 0.2, `${behind()} s when it asks instead`);
  identity.failure = new Error('identity is away');
  await sleep(400);
  t.ok(Number(behind()) > 0.3, `${behind()} s when nobody tells it`);
});

t.test('a snapshot of several pages; one that is broken off is continued', async (t) => {
  const pages: Record<string, unknown> = {
    '': { revocations: [revocationOf('a')], as_of: '1 of 3', more: true },
    '1 of 3': { revocations: [revocationOf('b')], as_of: '2 of 3', more: true },
    '2 of 3': { revocations: [revocationOf('c')], as_of: '3', more: false },
  };
  const fetches: string[] = [];
  const { feed, isRevoked, publish } = setUp(t, {
    silentAfterSeconds: 10,
    async fetch(since = '') {
      fetches.push(since);
      if (fetches.length === 2) throw new Error('identity is away');
      return pages[since];
    },
  });
  publish('a');
  const started = feed.start();
  await until(() => isRevoked('a'), 'the first page');
  t.equal(feed.unready(), 'the revocations are not loaded yet', 'by one page it vouches for nothing');
  t.throws(() => feed.check(), AWAY);
  await started;
  feed.check();
  t.ok(isRevoked('b') && isRevoked('c'));
  t.strictSame(fetches, ['', '1 of 3', '1 of 3', '2 of 3']);
});

t.test('more revocations than fit: the log says what is refused', async (t) => {
  const { feed, identity, lines } = setUp(t, { set: createRevocationSet({ capacity: 2 }) });
  identity.known = ['a', 'b', 'c', 'd'].map(revocationOf);
  await feed.start();
  t.match(lines, [{ level: 'error', msg: 'too many revocations: older credentials are refused', size: 2 }]);
  t.equal(lines.length, 1);
});

t.test('revocations that are broadcast during the first fetch are not missed', async (t) => {
  const first = Promise.withResolvers<unknown>();
  const { feed, publish, isRevoked, listeners } = setUp(t, { fetch: () => first.promise });
  const started = feed.start();
  t.equal(listeners.size, 1, 'it listens before it fetches');
  publish('a').next(revocationOf('new'));
  t.ok(isRevoked('new'), 'and hears');
  t.throws(() => feed.check(), AWAY, 'a heartbeat alone proves nothing');
  first.resolve({ revocations: [revocationOf('old')], as_of: '1' });
  await started;
  t.ok(isRevoked('old'));
  feed.check();
});

t.test('too long without news: nothing is taken', async (t) => {
  const { feed, identity, publish, lines } = setUp(t, { staleAfterSeconds: 0.25 });
  await feed.start();
  const publisher = publish('a');
  await sleep(300);
  feed.check();
  identity.failure = new Error('identity is away');
  publisher.stop();
  await sleep(100);
  feed.check();
  await sleep(300);
  t.throws(() => feed.check(), {
    ...AWAY,
    message: 'It is not known at the moment which credentials are revoked.',
  });
  t.equal(feed.unready(), 'the revocations are out of date');
  t.equal(lines.filter(({ level }) => level === 'warn').length, 1);
  identity.failure = undefined;
  await until(() => feed.unready() === undefined, 'a poll that succeeds');
  feed.check();
});

const RESPONSES: [label: string, response: unknown][] = [
  ['nothing', false],
  ['a text', 'x'],
  ['no list', { revocations: {}, as_of: '0' }],
  ['no as_of', { revocations: [] }],
];

t.test('start waits for as long as it takes', async (t) => {
  for (const [label, response] of RESPONSES) {
    const { feed, identity, publish } = setUp(t);
    identity.response = response;
    const started = feed.start();
    await sleep(20);
    t.throws(() => feed.check(), AWAY, label);
    publish('a');
    identity.response = undefined;
    await started;
    feed.check();
    t.ok(identity.fetches.length >= 2 && identity.fetches.every((since) => since === undefined), label);
    await feed.stop();
  }
  const { feed, identity, isRevoked } = setUp(t);
  identity.response = {
    revocations: [{ kind: 'newer', id: 'a', expiresAt: LATER }, revocationOf('b')],
    as_of: '2',
  };
  await feed.start();
  t.ok(isRevoked('b'), 'kinds that are not known yet hinder nothing');
});

t.test('stop ends it, also while it waits', async (t) => {
  const { feed, identity, listeners, reconnected, lines } = setUp(t);
  identity.failure = new Error('away');
  const started = feed.start();
  await until(() => lines.length === 1, 'a failure');
  await feed.stop();
  await t.rejects(started, { message: 'stopped while waiting for the revocations' });
  t.strictSame([listeners.size, reconnected.size], [0, 0]);
  const fetches = identity.fetches.length;
  await sleep(400);
  t.equal(identity.fetches.length, fetches);

  const never = setUp(t);
  await never.feed.stop();
  t.pass('before it was started');

  const running = setUp(t);
  await running.feed.start();
  await running.feed.stop();
  const before = running.identity.fetches.length;
  await sleep(250);
  t.equal(running.identity.fetches.length, before, 'it polls no more');
});
