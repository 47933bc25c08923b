import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '@gatehouse/core/logger';
import { createRevocationFeed, REVOCATIONS_SUBJECT } from '@gatehouse/tokens/revocation-feed';
import { createRevocationSet, type Revocation } from '@gatehouse/tokens/revocations';
import t, { type Test } from 'tap';
import { callerWith } from './callers.ts';

const LATER = Math.floor(Date.now() / 1000) + 3600;
const AWAY = { name: 'ServiceError', kind: 'unavailable' };
const revocationOf = (id: string): Revocation => ({ kind: 'token', id, expiresAt: LATER });

async function until(holds: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 5000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`${what}: not within 5 s`);
    await sleep(5);
  }
}

type Options = Partial<Parameters<typeof createRevocationFeed>[0]>;

/** A feed with an identity that knows what is in `known`; times are short: a publisher is silent after 100 ms. */
function setUp(t: Test, options: Options = {}) {
  const lines: { level: string; msg: string }[] = [];
  const listeners = new Set<(message: unknown) => void>();
  const reconnected = new Set<() => void>();
  const identity = {
    known: [] as Revocation[],
    fetches: [] as (string | undefined)[],
    failure: undefined as unknown,
    response: undefined as unknown,
  };
  const feed = createRevocationFeed({
    broadcast: {
      subscribe(subject, listener) {
        t.equal(subject, REVOCATIONS_SUBJECT);
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
      onReconnect(listener) {
        reconnected.add(listener);
        return () => void reconnected.delete(listener);
      },
    },
    async fetch(since) {
      identity.fetches.push(since);
      if (identity.failure !== undefined) throw identity.failure;
      const { known } = identity;
      return (
        identity.response ?? { revocations: known.slice(Number(since ?? 0)), as_of: String(known.length) }
      );
    },
    logger: createLogger({
      name: 'test',
      readable: false,
      destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
    }),
    silentAfterSeconds: 0.1,
    pollSeconds: 0.03,
    staleAfterSeconds: 5,
    ...options,
  });
  const send = (message: unknown) => {
    for (const listener of listeners) listener(message);
  };
  /** A publisher, which sends a heartbeat every 20 ms. */
  const publish = (from: string, first = 1) => {
    let n = first - 1;
    const next = (revocation?: unknown) => {
      n += 1;
      send({ from, n, ...(revocation === undefined ? {} : { revocation }) });
    };
    const beating = setInterval(() => next(), 20);
    const stop = () => clearInterval(beating);
    t.teardown(stop);
    next();
    return {
      next,
      stop,
      lose: () => {
        n += 1;
      },
    };
  };
  t.teardown(() => feed.stop());
  const isRevoked = (id: string) => feed.set.isRevoked(callerWith({ tokenId: id }));
  const reconnect = () => {
    for (const listener of reconnected) listener();
  };
  return { feed, identity, lines, listeners, reconnected, send, publish, reconnect, isRevoked };
}

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

t.test('a broadcast that has split is noticed by fetching now and then', async (t) => {
  const { feed, identity, publish, isRevoked, lines } = setUp(t, { rereadSeconds: 0.1 });
  await feed.start();
  // All is well with this one; another one is in the other part, and was never heard of.
  publish('a');
  identity.known = [revocationOf('elsewhere')];
  await until(() => isRevoked('elsewhere'), 'a fetch without cause');
  await sleep(300);
  t.ok(identity.fetches.length < 8, `${identity.fetches.length} fetches`);
  t.strictSame(lines, []);
});

t.test('more revocations than fit: the log says what is refused', async (t) => {
  const { feed, identity, lines } = setUp(t, { set: createRevocationSet({ capacity: 2 }) });
  identity.known = ['a', 'b', 'c', 'd'].map(revocationOf);
  await feed.start();
  t.match(lines, [{ level: 'error', msg: 'too many revocations: older credentials are refused', size: 2 }]);
  t.equal(lines.length, 1);
});

t.test('what is broadcast during the first fetch is not missed', async (t) => {
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

const GAPS: [
  label: string,
  open: (of: ReturnType<typeof setUp>, publisher: { lose(): void; next(revocation?: unknown): void }) => void,
][] = [
  [
    'a number is missing',
    (_feed, publisher) => {
      publisher.lose();
      publisher.next();
    },
  ],
  ['a publisher is new, and not at its beginning', ({ send }) => send({ from: 'b', n: 7 })],
  ['numbers begin anew', ({ send }) => send({ from: 'a', n: 1 })],
  ['the connection was lost', ({ reconnect }) => reconnect()],
  ['a revocation cannot be read', (_feed, publisher) => publisher.next({ kind: 'x' })],
];

t.test('where something may be missing it is fetched at once', async (t) => {
  for (const [label, open] of GAPS) {
    const made = setUp(t, { silentAfterSeconds: 10 });
    const { feed, identity, publish, isRevoked } = made;
    await feed.start();
    const publisher = publish('a');
    await sleep(60);
    identity.known = [revocationOf('missed')];
    t.strictSame(identity.fetches, [undefined], label);
    open(made, publisher);
    await until(() => isRevoked('missed'), label);
    t.equal(identity.fetches[1], '0', `${label}: only what is new`);
    await feed.stop();
  }
});

const FINE: [label: string, messages: unknown[]][] = [
  ['a new publisher at its beginning', [{ from: 'b', n: 1 }]],
  [
    'a message twice',
    [
      { from: 'b', n: 1 },
      { from: 'b', n: 1 },
      { from: 'b', n: 2 },
    ],
  ],
];

t.test('where nothing is missing nothing is fetched', async (t) => {
  for (const [label, messages] of FINE) {
    const { feed, identity, publish, send } = setUp(t, { silentAfterSeconds: 1 });
    await feed.start();
    publish('a');
    await sleep(60);
    for (const message of messages) send(message);
    await sleep(100);
    t.strictSame(identity.fetches, [undefined], label);
    await feed.stop();
  }
});

t.test('messages that are none', async (t) => {
  const { feed, publish, send, lines, isRevoked } = setUp(t);
  await feed.start();
  publish('a');
  const BAD = [
    undefined,
    null,
    'text',
    7,
    [],
    {},
    { from: 'a' },
    { n: 1 },
    { from: 1, n: 1 },
    { from: 'a', n: '1' },
  ];
  for (const message of BAD) send(message);
  t.equal(lines.length, BAD.length);
  t.ok(lines.every(({ level }) => level === 'warn'));
  send({ from: 'b', n: 1, revocation: { ...revocationOf('x'), expiresAt: 'never' } });
  t.match(lines.at(-1), { level: 'warn', msg: 'a malformed revocation was ignored' });
  send({ from: 'b', n: 2, revocation: revocationOf('y') });
  t.ok(isRevoked('y'), 'it hears on');
  t.notOk(isRevoked('x'));
});

t.test('a flood of gaps is no flood of fetches', async (t) => {
  const { feed, identity, send } = setUp(t);
  await feed.start();
  for (let n = 1; n < 300; n += 1) {
    send({ from: 'a', n: n * 2 });
    await sleep(1);
  }
  t.ok(identity.fetches.length < 20, `${identity.fetches.length} fetches`);
});

t.test('a flood of gaps while fetches fail is no flood of fetches', async (t) => {
  const { feed, identity, send } = setUp(t);
  await feed.start();
  identity.failure = new Error('identity is away');
  for (let n = 1; n < 300; n += 1) {
    send({ from: 'a', n: n * 2 });
    await sleep(1);
  }
  t.ok(identity.fetches.length < 30, `${identity.fetches.length} fetches`);
});

t.test('a gap that opens during a fetch needs another', async (t) => {
  const responses: ((response: unknown) => void)[] = [];
  const fetch = () => new Promise((resolve) => responses.push(resolve));
  const { feed, publish, send, isRevoked } = setUp(t, {
    fetch,
    staleAfterSeconds: 0.15,
    silentAfterSeconds: 5,
  });
  const started = feed.start();
  responses[0]?.({ revocations: [], as_of: '0' });
  await started;
  publish('a');
  send({ from: 'b', n: 7 });
  await until(() => responses.length === 2, 'a fetch');
  send({ from: 'b', n: 9 });
  responses[1]?.({ revocations: [], as_of: '0' });
  await until(() => responses.length === 3, 'another');
  await sleep(200);
  t.throws(() => feed.check(), AWAY, 'heartbeats do not count while a gap is open');
  responses[2]?.({ revocations: [revocationOf('missed')], as_of: '1' });
  await until(() => isRevoked('missed'), 'the third answer');
  await sleep(200);
  feed.check();
  t.equal(responses.length, 3, 'and then they do');
});

t.test('without heartbeats it polls', async (t) => {
  const { feed, identity, publish, isRevoked, lines, reconnect } = setUp(t, { staleAfterSeconds: 0.3 });
  await feed.start();
  const publisher = publish('a');
  await sleep(50);
  publisher.stop();
  await until(() => lines.length === 1, 'a warning');
  t.match(lines, [{ level: 'warn', msg: 'revocations may be missing; polling for them' }]);
  identity.known = [revocationOf('during')];
  await until(() => isRevoked('during'), 'a poll');
  const before = identity.fetches.length;
  await sleep(500);
  const polls = identity.fetches.length - before;
  t.ok(polls >= 5 && polls <= 25, `${polls} polls in 500 ms`);
  feed.check();
  t.equal(identity.fetches.at(-1), '1', 'for what is newer than the last answer');
  t.equal(lines.length, 1, 'it warns once');

  reconnect();
  publish('b');
  await until(() => lines.length === 2, 'the recovery');
  t.match(lines[1], { level: 'info', msg: 'revocations are broadcast again' });
  const after = identity.fetches.length;
  await sleep(200);
  t.equal(identity.fetches.length, after, 'and then it polls no more');
});

t.test('one publisher of two goes silent', async (t) => {
  const { feed, identity, publish, isRevoked, lines } = setUp(t, { staleAfterSeconds: 0.5 });
  await feed.start();
  const leaving = publish('a');
  publish('b');
  await sleep(50);
  leaving.stop();
  identity.known = [revocationOf('unheard')];
  await until(() => isRevoked('unheard'), 'a poll: it may have written what it could not tell');
  await until(() => lines.length === 2, 'it is waited for in vain for some time');
  t.match(lines, [{ level: 'warn' }, { level: 'info' }]);
  const after = identity.fetches.length;
  await sleep(200);
  t.equal(identity.fetches.length, after);
});

t.test('a gap while it polls for another reason', async (t) => {
  const { feed, identity, publish, isRevoked, lines } = setUp(t, { pollSeconds: 60, staleAfterSeconds: 60 });
  await feed.start();
  publish('a').stop();
  const other = publish('b');
  await until(() => lines.length === 1, 'one is silent');
  await sleep(100);
  identity.known = [revocationOf('missed')];
  other.lose();
  other.next();
  await until(() => isRevoked('missed'), 'a fetch at once');
  // It would wait for a minute now, and the process with it.
  await sleep(100);
  await feed.stop();
});

t.test('a gap right after another was closed', async (t) => {
  const { feed, identity, send, isRevoked } = setUp(t, { silentAfterSeconds: 60 });
  await feed.start();
  await sleep(100);
  send({ from: 'a', n: 3 });
  await until(() => identity.fetches.length === 2, 'a fetch');
  identity.known = [revocationOf('missed')];
  send({ from: 'a', n: 5 });
  await until(() => isRevoked('missed'), 'another');
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

t.test('a gap that cannot be closed, and heartbeats go on', async (t) => {
  const { feed, identity, publish, lines } = setUp(t, { staleAfterSeconds: 0.2 });
  await feed.start();
  const publisher = publish('a');
  identity.failure = new Error('identity is away');
  publisher.lose();
  publisher.next();
  await sleep(400);
  t.throws(() => feed.check(), AWAY);
  identity.failure = undefined;
  await until(() => feed.unready() === undefined, 'the gap is closed');
  await sleep(100);
  t.match(lines, [{ level: 'warn', err: { message: 'identity is away' } }, { level: 'info' }]);
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
