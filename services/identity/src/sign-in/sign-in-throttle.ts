import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { addressKeys } from '@gatehouse/http/rate-limit';
import { ServiceError } from '@gatehouse/kit/errors';
import { foldedKey } from '@gatehouse/kit/folded-key';
import { createKeyedSemaphore } from './keyed-semaphore.ts';

/**
 * One attempt to sign in, or a check of the current password: on an account by its id, as its names can change and it has
 * several; on none by the username or email address that was given.
 */
export type SignInAttempt = ({ login: string } | { userId: string }) & {
  /** The caller's IP address. */
  address: string;
  /** Whether somebody has signed in to this account in this browser before. */
  knownDevice: boolean;
};

/**
 * Limits the guessing of passwords. Only failures count. Browsers that have signed in to the account before have limits of
 * their own, which nobody else's attempts affect, and 100 failures in a row. All others together have 100 failures in a row (NIST SP 800-63B §5.2.2),
 * then the account opens to known browsers only, until somebody signs in there or sets a new password by a mailed link.
 * Unknown logins count like known ones.
 */
export type SignInThrottle = {
  /**
   * Counts the attempt as a failure, before the password is checked. May take some seconds. Throws `rate_limited`
   * with Retry-After. Unless it throws, exactly one of the following three must be called.
   */
  before(attempt: SignInAttempt): Promise<void>;
  failed(attempt: SignInAttempt): Promise<void>;
  succeeded(attempt: SignInAttempt): Promise<void>;
  /** Somebody has proved by a mailed link that the account is theirs: the failures so far do not count. */
  forgive(userId: string): Promise<void>;
  /** The password could not be checked: the attempt does not count. */
  abandoned(attempt: SignInAttempt): Promise<void>;
  /** Counts a requested mail by its recipient, by who asks, or both; throws `rate_limited`. */
  countMail(by: { recipient?: string; address?: string }): Promise<void>;
};

/** How the attempts on one counter are delayed. Times are in milliseconds. */
export type ThrottlePolicy = {
  /** How many attempts cause no delay. */
  free: number;
  /** The delays after those, one for each further attempt; the last one holds for all that follow. */
  delays: readonly number[];
  /** After this time, counting starts over. */
  window: number;
  /** Whether each attempt restarts the window, so that only a pause of that length ends it. */
  sliding: boolean;
};

type Counter = { key: string; policy: ThrottlePolicy };

/** What became of an attempt on one counter. */
export type Outcome = {
  admitted: boolean;
  /** The attempts in this window, including this one if it was admitted. */
  count: number;
  /** How many of them are known to have failed; the others may still be in progress. */
  settled: number;
  /** When the next attempt will be admitted, in milliseconds since the epoch. */
  retryAt: number;
};

/** The counters, which all replicas share. */
export type SignInCounters = {
  collection: string;
  /** Counts one more attempt, unless the delay after the last one is not over. */
  take(key: string, policy: ThrottlePolicy, now: number): Promise<Outcome>;
  settle(keys: readonly string[]): Promise<void>;
  giveBack(keys: readonly string[]): Promise<void>;
  reset(key: string): Promise<void>;
};

/** There were too many failures in a row: the account opens to browsers that have signed in to it before. */
export class KnownDevicesOnly extends ServiceError {
  constructor() {
    super(
      'rate_limited',
      'Too many wrong passwords in a row: sign in where you have signed in before, or set a new password by mail.',
    );
  }
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const YEAR = 365 * 24 * HOUR;

/** `first`, doubled each time, up to `max`. */
function doubling(first: number, max: number): number[] {
  const delays: number[] = [];
  for (let delay = first; delay < max; delay *= 2) delays.push(delay);
  return [...delays, max];
}

/** One account from one address. Pausing for a day gains nothing over trying every 15 minutes. */
const PAIR: ThrottlePolicy = {
  free: 5,
  delays: doubling(SECOND, 15 * MINUTE),
  window: 24 * HOUR,
  sliding: true,
};
/** All accounts from one address, and from the networks around it: a subscriber may have a /48 (RFC 6177 §2). */
const ADDRESSES: readonly ThrottlePolicy[] = [50, 100, 200].map((free) => ({
  free,
  delays: doubling(SECOND, 15 * MINUTE),
  window: 15 * MINUTE,
  sliding: false,
}));
/** One account from everywhere, in a row: what sits out a year is not guessing. */
const IN_A_ROW: ThrottlePolicy = { free: 100, delays: [YEAR], window: YEAR, sliding: true };
/** One account from everywhere: it slows attempts down, but never refuses one. */
const ACCOUNT: ThrottlePolicy = { free: 20, delays: [0], window: HOUR, sliding: false };
/** After three, one in ten minutes: however often a stranger asks, the owner's latest link must work for a while. */
const MAILS_TO_RECIPIENT: ThrottlePolicy = {
  free: 3,
  delays: [10 * MINUTE],
  window: HOUR,
  sliding: false,
};
const MAILS_FROM_ADDRESS: ThrottlePolicy = {
  free: 20,
  delays: [HOUR],
  window: HOUR,
  sliding: false,
};

/** How much an attempt on an account under attack is slowed down. */
const FIRST_SLOWDOWN_MS = 250;
const MAX_SLOWDOWN_MS = 5000;
/** How long an attempt waits for others that are in progress, and how often it checks. */
const MAX_WAIT_MS = 10_000;
const POLL_MS = 60;
/** How many may be waiting in this process; more are not slowed down, so that waiting cannot use up memory. */
const MAX_WAITING = 200;

/** `key` hides logins and addresses in the database. `now` and `wait`, in milliseconds, are for tests. */
export function createSignInThrottle(options: {
  store: SignInCounters;
  key: Buffer;
  now?: () => number;
  wait?: (ms: number) => Promise<unknown>;
}): SignInThrottle {
  const { store, now = Date.now, wait = sleep } = options;
  // Without it, many concurrent sign-ins to one account would delay each other as if they were guesses.
  const semaphore = createKeyedSemaphore({ permits: PAIR.free, maxWaiting: MAX_WAITING });
  let waiting = 0;

  const keyOf = (...parts: string[]) =>
    createHmac('sha256', options.key).update(parts.join('\n')).digest('base64url');

  const rowOf = (account: readonly string[], knownDevice: boolean) =>
    keyOf(knownDevice ? 'row of known devices' : 'row', ...account);

  /** The counters for an attempt; known devices have counters of their own, and no others. A success ends `rows`, too. */
  function countersOf({ address, knownDevice, ...by }: SignInAttempt) {
    const account = 'userId' in by ? ['id', by.userId] : [foldedKey(by.login.trim())];
    const networks = addressKeys(address);
    const pair = keyOf('pair', knownDevice ? 'known' : 'unknown', networks[0], ...account);
    const shared: Counter[] = [
      { key: keyOf('account', ...account), policy: ACCOUNT },
      ...ADDRESSES.flatMap((policy, i) => {
        const network = networks[i];
        return network === undefined ? [] : [{ key: keyOf('address', network), policy }];
      }),
    ];
    const row = { key: rowOf(account, knownDevice), policy: IN_A_ROW };
    const rows = [true, false].map((known) => rowOf(account, known));
    return { pair, rows, shared: knownDevice ? [row] : [row, ...shared] };
  }

  /** Waits, unless too many already do; returns whether it did. */
  async function pause(ms: number): Promise<boolean> {
    if (waiting >= MAX_WAITING) return false;
    waiting += 1;
    try {
      await wait(ms);
    } finally {
      waiting -= 1;
    }
    return true;
  }

  /** Counts an attempt on each of the counters, or on none. The first counter decides first. */
  async function takeAll([first, ...others]: readonly Counter[]): Promise<(Outcome & Counter)[]> {
    const time = now();
    const take = async (counter: Counter) => ({
      ...(await store.take(counter.key, counter.policy, time)),
      ...counter,
    });
    if (first === undefined) return [];
    const one = await take(first);
    if (!one.admitted) return [one];
    const all = [one, ...(await Promise.all(others.map(take)))];
    const admitted = all.filter((it) => it.admitted);
    if (admitted.length < all.length) await store.giveBack(admitted.map(({ key }) => key));
    return all;
  }

  /** How long to slow an attempt down, in milliseconds, given the recent attempts on its account. */
  function slowdown(account: Outcome): number {
    const excess = account.count - ACCOUNT.free;
    return excess <= 0 ? 0 : Math.min(MAX_SLOWDOWN_MS, FIRST_SLOWDOWN_MS * 2 ** Math.min(excess - 1, 10));
  }

  /** Counts the attempt on all of its counters; see SignInThrottle.before. */
  async function count(attempt: SignInAttempt, deadline: number): Promise<void> {
    const { pair, shared } = countersOf(attempt);
    for (;;) {
      const outcomes = await takeAll([{ key: pair, policy: PAIR }, ...shared]);
      const refused = outcomes.filter(({ admitted }) => !admitted);
      if (refused.length === 0) {
        const account = outcomes.find(({ policy }) => policy === ACCOUNT);
        const slow = account === undefined ? 0 : slowdown(account);
        if (slow > 0) await pause(slow);
        return;
      }
      // The others are in progress and not known to have failed, which will be settled soon: a program that signs in
      // many times at once with the right password is not guessing.
      const inProgress = refused.every(({ settled, policy }) => settled < policy.free);
      const again = inProgress && now() < deadline && (await pause(POLL_MS));
      if (again) continue;
      const locked = refused.some(({ policy }) => policy === IN_A_ROW);
      throw locked ? new KnownDevicesOnly() : tooManyAttempts(refused);
    }
  }

  /** Records how an attempt ended, and lets the next one proceed. */
  async function end(
    attempt: SignInAttempt,
    write: (pair: string, shared: string[], rows: string[]) => Promise<unknown>,
  ) {
    const { pair, shared, rows } = countersOf(attempt);
    try {
      const keys = shared.map(({ key }) => key);
      await write(pair, keys, rows);
    } finally {
      semaphore.release(pair);
    }
  }

  function tooManyAttempts(refused: readonly Outcome[]): ServiceError {
    const ms = Math.max(0, ...refused.map(({ retryAt }) => retryAt)) - now();
    const seconds = Math.max(1, Math.ceil(ms / 1000));
    return new ServiceError('rate_limited', `Too many attempts: try again in ${seconds} s.`, {
      headers: { 'retry-after': String(seconds) },
    });
  }

  return {
    async before(attempt) {
      const { pair } = countersOf(attempt);
      const deadline = now() + MAX_WAIT_MS;
      if (!(await semaphore.acquire(pair, MAX_WAIT_MS))) throw tooManyAttempts([]);
      try {
        await count(attempt, deadline);
      } catch (error) {
        semaphore.release(pair);
        throw error;
      }
    },
    failed: (attempt) => end(attempt, (pair, shared) => store.settle([pair, ...shared])),
    succeeded: (attempt) =>
      end(attempt, (pair, shared, rows) =>
        Promise.all([
          ...[pair, ...rows].map((key) => store.reset(key)),
          store.giveBack(shared.filter((key) => !rows.includes(key))),
        ]),
      ),
    async forgive(userId) {
      await Promise.all([true, false].map((known) => store.reset(rowOf(['id', userId], known))));
    },
    abandoned: (attempt) => end(attempt, (pair, shared) => store.giveBack([pair, ...shared])),
    async countMail({ recipient, address }) {
      const outcomes = await takeAll([
        ...(recipient === undefined ? [] : [{ key: keyOf('mail', recipient), policy: MAILS_TO_RECIPIENT }]),
        ...(address === undefined
          ? []
          : addressKeys(address).map((network, i) => ({
              key: keyOf('mails from', network),
              policy: { ...MAILS_FROM_ADDRESS, free: MAILS_FROM_ADDRESS.free * 2 ** i },
            }))),
      ]);
      const refused = outcomes.filter(({ admitted }) => !admitted);
      if (refused.length > 0) throw tooManyAttempts(refused);
    },
  };
}
