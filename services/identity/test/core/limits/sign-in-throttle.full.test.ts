import { randomBytes } from 'node:crypto';
import type { ServiceError } from '@gatehouse/core/errors';
import t from 'tap';
import { createSeenStore } from '../../../src/core/accounts/seen-store.ts';
import {
  createSignInThrottle,
  type PasswordAttempt,
  type SignInCounters,
} from '../../../src/core/limits/sign-in-throttle.ts';
import { createSignInThrottleStore } from '../../../src/core/limits/sign-in-throttle-store.ts';
import { assertIndexed, withStores } from '../../store-set-up.ts';

const { connection, store, seen } = await withStores(t, (it) => ({
  store: createSignInThrottleStore(it),
  seen: createSeenStore(it),
}));
const KEY = randomBytes(32);
const ANN = { id: 'usr_ann', username: 'ann', email: 'ann@example.org', sign_in_epoch: 0 };

/** A throttle with a clock of its own, in which waiting takes no time; `waits` tells how long it would have. */
function build(key = randomBytes(32)) {
  const clock = { now: Date.now() };
  const waits: number[] = [];
  const throttle = createSignInThrottle({
    store,
    seen,
    key,
    now: () => clock.now,
    async wait(ms) {
      waits.push(ms);
      clock.now += ms;
    },
  });
  const attempt = (over: Partial<PasswordAttempt> = {}): PasswordAttempt => ({
    login: 'ann',
    account: undefined,
    address: '192.0.2.1',
    knownDevice: false,
    ...over,
  });
  /** Whether it was let through, and if not for how many seconds. */
  async function fail(over: Partial<PasswordAttempt> = {}): Promise<number> {
    try {
      await throttle.failed(await throttle.before(attempt(over)));
      return 0;
    } catch (error) {
      const { kind, headers } = error as ServiceError;
      if (kind !== 'rate_limited') throw error;
      return Number(headers['retry-after']);
    }
  }
  async function succeed(over: Partial<PasswordAttempt> = {}): Promise<void> {
    await throttle.succeeded(await throttle.before(attempt({ account: ANN, ...over })));
  }
  return { throttle, clock, waits, attempt, fail, succeed };
}

t.test('after five failures in a row the waits grow, up to 15 minutes', async (t) => {
  const { fail, clock } = build();
  for (let i = 0; i < 5; i += 1) t.equal(await fail(), 0);
  for (const seconds of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]) {
    t.equal(await fail(), seconds, `refused for ${seconds} s`);
    t.equal(await fail(), seconds, 'what is refused does not make it longer');
    clock.now += seconds * 1000 - 1;
    t.equal(await fail(), 1, 'and not a moment earlier');
    clock.now += 1;
    t.equal(await fail(), 0, 'then one more try');
  }
});

t.test(
  'a success starts the counting anew; an attempt that could not be checked does not count',
  async (t) => {
    const { fail, succeed, throttle, attempt } = build();
    for (let i = 0; i < 4; i += 1) t.equal(await fail(), 0);
    await succeed();
    for (let i = 0; i < 4; i += 1) t.equal(await fail(), 0);
    for (let i = 0; i < 10; i += 1) {
      await throttle.abandoned(await throttle.before(attempt()));
    }
    t.equal(await fail(), 0);
    t.equal(await fail(), 1);
  },
);

t.test('only a quiet day ends a row of failures', async (t) => {
  const { fail, clock } = build();
  for (let i = 0; i < 5; i += 1) await fail();
  for (const seconds of [2, 4, 8, 16, 32]) {
    clock.now += 12 * 3_600_000;
    t.equal(await fail(), 0);
    t.equal(await fail(), seconds);
  }
  clock.now += 24 * 3_600_000;
  for (let i = 0; i < 5; i += 1) t.equal(await fail(), 0);
});

t.test('names are counted as they are compared, and unknown ones like all', async (t) => {
  const { fail } = build();
  for (const login of ['ANN', 'ann', ' Ann', 'ａｎｎ', 'aNN']) t.equal(await fail({ login }), 0);
  t.equal(await fail(), 1);
  const other = build();
  for (let i = 0; i < 5; i += 1) t.equal(await other.fail({ login: 'nobody' }), 0);
  t.equal(await other.fail({ login: 'nobody' }), 1);
});

t.test('a stranger elsewhere refuses nobody, and slows down nobody in a known browser', async (t) => {
  const { fail, waits, succeed, clock } = build();
  for (let i = 0; i < 60; i += 1) t.equal(await fail({ address: `198.51.100.${i}` }), 0, 'never refused');
  const slow = waits.slice();
  t.same(slow.slice(0, 6), [250, 500, 1000, 2000, 4000, 5000], 'slowed down from the 21st on');
  t.equal(slow.length, 40);
  t.equal(Math.max(...slow), 5000);
  waits.length = 0;
  await succeed({ address: '203.0.113.9', knownDevice: true });
  t.same(waits, [], 'a known browser');
  await succeed({ address: '203.0.113.9' });
  t.same(waits, [5000], 'another one of the same person: slowly');
  clock.now += 3_600_000;
  waits.length = 0;
  await succeed({ address: '203.0.113.9' });
  t.same(waits, [], 'an hour later it is over');
});

t.test(
  'a stranger at the same address does not stop a known browser, which has a limit of its own',
  async (t) => {
    const { fail, clock } = build();
    for (let i = 0; i < 5; i += 1) await fail();
    for (let i = 0; i < 60; i += 1) await fail({ login: `user${i}` });
    t.ok((await fail()) > 0);
    t.ok((await fail({ login: 'fresh' })) > 0);
    for (let i = 0; i < 5; i += 1) t.equal(await fail({ knownDevice: true }), 0);
    t.equal(await fail({ knownDevice: true }), 1);
    clock.now += 1000;
    t.equal(await fail({ knownDevice: true }), 0);
  },
);

t.test('an address that tries many accounts has to wait, whichever account it tries', async (t) => {
  const { fail, clock, succeed } = build();
  for (let i = 0; i < 30; i += 1) await succeed({ login: `user${i}` });
  for (let i = 0; i < 50; i += 1) t.equal(await fail({ login: `user${i}` }), 0);
  for (const seconds of [1, 2, 4, 8]) {
    t.equal(await fail({ login: 'another' }), seconds);
    clock.now += seconds * 1000;
    t.equal(await fail({ login: `after ${seconds}` }), 0);
  }
  t.equal(await fail({ address: '192.0.2.2', login: 'another' }), 0, 'another address is not meant');
  clock.now += 15 * 60_000;
  for (let i = 0; i < 50; i += 1) {
    t.equal(await fail({ login: `later${i}` }), 0);
    if (i === 25) clock.now += 10 * 60_000;
  }
  t.equal(await fail({ login: 'another' }), 1);
  clock.now += 5 * 60_000;
  for (const login of ['another', 'yet another']) {
    t.equal(await fail({ login }), 0, 'a quarter of an hour after the first of them');
  }
});

t.test('an IPv6 address counts with its /64, /56 and /48', async (t) => {
  const { fail } = build();
  for (let i = 0; i < 5; i += 1) t.equal(await fail({ address: `2001:db8:1:2::${i}` }), 0);
  t.equal(await fail({ address: '2001:db8:1:2:ffff:ffff:ffff:ffff' }), 1);
  t.equal(await fail({ address: '2001:db8:1:3::1' }), 0);

  // Every guess at another account, and from another /64.
  let count = 0;
  const spray = (network: string) => {
    count += 1;
    return fail({ login: `sprayed${count}`, address: `2001:db8:2:${network}::1` });
  };
  const hex = (i: number) => i.toString(16).padStart(2, '0');
  for (let i = 0; i < 100; i += 1) t.equal(await spray(`1${hex(i)}`), 0, '100 for a /56');
  t.equal(await spray('1ff'), 1);
  for (let i = 0; i < 100; i += 1) t.equal(await spray(`${hex(i)}00`), i === 1 ? 1 : 0, '200 for a /48');
  t.equal(await spray('ff00'), 0);
  t.equal(await spray('ff01'), 1);
});

t.test('after 100 failures in a row, from wherever, the account opens to known browsers only', async (t) => {
  const { throttle, attempt, fail, succeed, clock } = build();
  const by = { account: ANN };
  let count = 0;
  const guess = () => {
    count += 1;
    return fail({ ...by, address: `198.51.${count >> 8}.${count & 255}` });
  };
  const locked = () =>
    t.rejects(throttle.before(attempt({ ...by, address: '203.0.113.2' })), {
      kind: 'rate_limited',
      message: /signed in before/,
      headers: { 'retry-after': '3600' },
    });
  for (let i = 0; i < 99; i += 1) t.equal(await guess(), 0);
  await succeed({ ...by, address: '203.0.113.1' });
  for (let i = 0; i < 100; i += 1) t.equal(await guess(), 0, 'a success ends the row');
  await locked();
  clock.now += 300 * 24 * 3_600_000;
  await locked();
  t.equal(await fail({ ...by, address: '203.0.113.9', knownDevice: true }), 0, 'a known browser may fail');
  await locked();
  await succeed({ ...by, address: '203.0.113.9', knownDevice: true });
  for (let i = 0; i < 100; i += 1) t.equal(await guess(), 0, 'a success there opens the account');
  await locked();
  await throttle.forgive(ANN);
  t.equal(await guess(), 0, 'so does a mailed link');
  t.equal(await fail({ login: 'bob', address: '203.0.113.1' }), 0, 'other accounts are not concerned');

  // Whoever has a known browser, or a session, and many addresses.
  let known = 0;
  const knownGuess = () => {
    known += 1;
    return fail({ ...by, address: `192.0.2.${known}`, knownDevice: true });
  };
  await throttle.forgive(ANN);
  for (let i = 0; i < 100; i += 1) t.equal(await knownGuess(), 0);
  const next = attempt({ ...by, address: '192.0.2.200', knownDevice: true });
  await t.rejects(throttle.before(next), { kind: 'rate_limited', message: /signed in before/ });
  t.equal(await guess(), 0, 'which does not concern the others');
  await throttle.forgive(ANN);
  t.equal(await knownGuess(), 0);
});

t.test('an address that the account was signed in from is not closed with the rest', async (t) => {
  const { throttle, attempt, fail, succeed } = build();
  const HOME = '203.0.113.7';
  let count = 0;
  const elsewhere = () => {
    count += 1;
    return fail({ account: ANN, address: `198.51.${count >> 8}.${count & 255}` });
  };
  const isLetIn = async (over: Partial<PasswordAttempt>) => {
    const counted = await throttle.before(attempt({ account: ANN, address: HOME, ...over })).catch(() => {});
    if (counted !== undefined) await throttle.abandoned(counted);
    return counted?.isClosed === false;
  };
  await succeed({ address: HOME });
  for (let i = 0; i < 100; i += 1) t.equal(await elsewhere(), 0);
  for (const [name, over, expected] of [
    ['there', {}, true],
    ['by another name', { login: 'ann@example.org' }, true],
    ['elsewhere', { address: '203.0.113.8' }, false],
    ['a known browser elsewhere', { address: '203.0.113.8', knownDevice: true }, true],
    ['after all sign-ins have ended', { account: { ...ANN, sign_in_epoch: 1 } }, false],
  ] as [string, Partial<PasswordAttempt>, boolean][]) {
    t.equal(await isLetIn(over), expected, name);
  }

  // All neighbours together have a hundred failures in a row, which close nothing else.
  await throttle.forgive(ANN);
  const homes = Array.from({ length: 20 }, (_, i) => `203.0.113.${100 + i}`);
  for (const address of homes) await succeed({ address });
  for (const address of homes) {
    for (let i = 0; i < 5; i += 1) t.equal(await fail({ account: ANN, address }), 0);
  }
  t.notOk(await isLetIn({}), 'closed to all of them');
  t.ok(await isLetIn({ knownDevice: true }), 'not to a known browser');
  t.ok(await isLetIn({ address: '203.0.113.8' }), 'nor to others');
  await throttle.forgive(ANN);
  t.ok(await isLetIn({}));
});

t.test('an account has a hundred failures under all of its names, and none shows at another', async (t) => {
  const { throttle, attempt, fail, succeed } = build();
  let count = 0;
  const next = (login: string, more: Partial<PasswordAttempt> = {}) => {
    count += 1;
    return attempt({ login, account: ANN, address: `198.51.${count >> 8}.${count & 255}`, ...more });
  };
  async function guess(login: string, times: number): Promise<void> {
    for (let i = 0; i < times; i += 1) {
      const counted = await throttle.before(next(login));
      t.equal(counted.isClosed, false);
      await throttle.failed(counted);
    }
  }
  for (let i = 0; i < 5; i += 1) t.equal(await fail({ account: ANN }), 0);
  t.equal(await fail({ account: ANN }), 1);
  t.equal(await fail({ account: ANN, login: 'ann@example.org' }), 0, 'not refused at the other name');
  await guess('ann', 60);
  await guess('ann@example.org', 34);
  for (const login of ['ann', 'ann@example.org']) {
    for (let i = 0; i < 3; i += 1) {
      const counted = await throttle.before(next(login));
      t.equal(counted.isClosed, true, 'closed, which is not said');
      await (i === 0 ? throttle.abandoned(counted) : throttle.failed(counted));
    }
  }
  const known = await throttle.before(next('ann', { knownDevice: true }));
  t.equal(known.isClosed, false, 'a known browser is let in');
  await throttle.succeeded(known);
  await guess('ann@example.org', 100);
  await t.rejects(throttle.before(next('ann@example.org')), { message: /signed in before/ });
  t.equal((await throttle.before(next('ann'))).isClosed, true);
  await succeed({ login: 'ann', knownDevice: true });
  await guess('ann@example.org', 1);
});

t.test('no login that is typed counts as the id of an account', async (t) => {
  const { throttle, attempt, fail } = build();
  for (let i = 0; i < 100; i += 1) {
    t.equal(await fail({ login: `id\n${ANN.id}`, address: `198.51.100.${i}` }), 0);
  }
  const counted = await throttle.before(attempt({ account: ANN, address: '203.0.113.1' }));
  t.equal(counted.isClosed, false);
});

t.test('a hundred guesses at once are not a hundred guesses', async (t) => {
  const replicas = [1, 2].map(() => createSignInThrottle({ store, seen, key: KEY, wait: async () => {} }));
  const attempt = { login: 'parallel', account: undefined, address: '192.0.2.7', knownDevice: false };
  let guesses = 0;
  const results = await Promise.allSettled(
    Array.from({ length: 100 }, async (_, i) => {
      const throttle = replicas[i % 2];
      const counted = await throttle?.before(attempt);
      guesses += 1;
      if (counted !== undefined) await throttle?.failed(counted);
    }),
  );
  // A sixth is let through when a second has passed meanwhile.
  t.ok(guesses >= 5 && guesses <= 6, `${guesses} guesses`);
  for (const result of results) {
    if (result.status === 'rejected') t.match(result.reason, { kind: 'rate_limited' });
  }
});

t.test('many who sign in at once with the right password all get in', async (t) => {
  const waits: number[] = [];
  const throttle = createSignInThrottle({
    store,
    seen,
    key: randomBytes(32),
    async wait(ms) {
      waits.push(ms);
      await new Promise((resolve) => setTimeout(resolve, ms));
    },
  });
  const account = { ...ANN, username: 'busy' };
  const attempt = { login: 'busy', account, address: '192.0.2.8', knownDevice: false };
  const results = await Promise.allSettled(
    Array.from({ length: 100 }, async () => {
      const counted = await throttle.before(attempt);
      await new Promise((resolve) => setTimeout(resolve, 20));
      // Like the password check, which does not wait for it.
      throttle.succeeded(counted).catch(t.error);
    }),
  );
  t.same(waits, [], 'nobody was slowed down by the others');
  t.same(
    results.filter(({ status }) => status === 'rejected'),
    [],
  );
});

t.test('a turn ends however its attempt ends, and not before that is written down', async (t) => {
  const attempt = { login: 'ann', account: ANN, address: '192.0.2.1', knownDevice: false };
  const calls: string[] = [];
  let write: () => Promise<void> = async () => {};
  const counters: SignInCounters = {
    collection: 'none',
    take: async () => ({ admitted: true, count: 1, settled: 0, retryAt: 0 }),
    settle: () => write(),
    giveBack: () => write(),
    reset: () => write(),
  };
  const throttle = createSignInThrottle({ store: counters, seen, key: KEY });
  const taken = (login = 'ann') => throttle.before({ ...attempt, login }).then(() => calls.push(login));

  // More than have a turn at once: each would wait for one that does not come.
  write = async () => Promise.reject(new Error('the database is away'));
  for (const end of [throttle.failed, throttle.succeeded, throttle.abandoned]) {
    for (let i = 0; i < 6; i += 1) {
      const counted = await throttle.before(attempt);
      await t.rejects(end(counted), /away/);
    }
  }

  for (let i = 0; i < 4; i += 1) await throttle.before(attempt);
  const fifth = await throttle.before(attempt);
  let written = () => {};
  write = () => new Promise((resolve) => (written = resolve));
  const sixth = taken();
  const ended = throttle.failed(fifth);
  await taken('bob');
  t.same(calls, ['bob'], 'another account does not wait for it');
  written();
  await Promise.all([ended, sixth]);
  t.same(calls, ['bob', 'ann']);
});

t.test(
  'mails: three for one account, then one in ten minutes; twenty from one address in an hour',
  async (t) => {
    const { throttle, clock } = build();
    for (let i = 0; i < 3; i += 1) await throttle.countMail({ recipient: 'usr_ann' });
    clock.now += 300_000;
    await t.rejects(throttle.countMail({ recipient: 'usr_ann' }), /try again in 300 s/);
    await t.rejects(throttle.countMail({ recipient: 'usr_ann', address: '192.0.2.9' }), /try again/);
    for (let i = 0; i < 20; i += 1) await throttle.countMail({ address: '192.0.2.9' });
    await t.rejects(throttle.countMail({ address: '192.0.2.9' }), /try again in 3600 s/);
    clock.now += 300_000;
    await throttle.countMail({ recipient: 'usr_ann' });
    await t.rejects(throttle.countMail({ recipient: 'usr_ann' }), /try again in 600 s/);
  },
);

t.test('however a name is written, it is counted as one', async (t) => {
  const { throttle, attempt } = build();
  const spellings = ['mississippi', 'MISSISSIPPI', 'ｍississippi', 'Miſsissippi', ' Mississippi '];
  for (const login of spellings) {
    await throttle.failed(await throttle.before(attempt({ login })));
  }
  await t.rejects(throttle.before(attempt({ login: 'miſſissippi' })), /try again/);
});

t.test('stored counters name nobody, and expire', async (t) => {
  const { fail } = build();
  await fail({ login: 'a-telling-name', address: '192.0.2.123' });
  const stored = await connection.collection('sign_in_counters').find({}).toArray();
  t.notMatch(JSON.stringify(stored), /telling|192\.0\.2/);
  for (const { expires_at } of stored) t.ok(expires_at instanceof Date);
});

t.test('every query uses an index', (t) => {
  const { fail, succeed, throttle, attempt } = build();
  return assertIndexed(t, connection, async () => {
    await fail();
    await succeed();
    await throttle.abandoned(await throttle.before(attempt()));
  });
});
