// Runs alone, as it measures time.
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { AWAY, revocationOf, setUp, until } from './revocation-feed-set-up.ts';

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

t.test('without a connection it polls at once, until there is one again', async (t) => {
  const made = setUp(t, { silentAfterSeconds: 10, pollSeconds: 10 });
  const { feed, identity, publish, isRevoked, disconnect, reconnect } = made;
  await feed.start();
  publish('a');
  disconnect();
  for (const id of ['first', 'second']) {
    identity.known = [...identity.known, revocationOf(id)];
    const begun = performance.now();
    await until(() => isRevoked(id), id);
    t.ok(performance.now() - begun < 600, id);
  }
  reconnect();
  await sleep(400);
  const after = identity.fetches.length;
  await sleep(800);
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

t.test('one publisher of two has ended, and says so', async (t) => {
  const { feed, identity, publish, send, isRevoked, lines } = setUp(t);
  await feed.start();
  publish('b');
  send({ from: 'a', n: 1 });
  send({ from: 'a', n: 2, ended: true });
  await sleep(300);
  t.same(lines, [], 'nobody waits for it');
  const before = identity.fetches.length;
  identity.known = [revocationOf('missed')];
  send({ from: 'c', n: 7, ended: true });
  await until(() => isRevoked('missed'), 'its last numbers show what is missing');
  t.equal(identity.fetches.length, before + 1);
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
