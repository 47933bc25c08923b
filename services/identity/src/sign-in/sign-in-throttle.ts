import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { addressKey } from '@gatehouse/http/rate-limit';
import { ServiceError } from '@gatehouse/kit/errors';
import { foldedKey } from '@gatehouse/kit/folded-key';
import { createKeyedSemaphore } from './keyed-semaphore.ts';

/**
 * One attempt to sign in, with the username or email address that was given, known or not. Or a check of the current
 * password of somebody who is signed in: by their id, as they can change the others between two attempts.
 */
export type SignInAttempt = ({ login: string } | { userId: string }) & {
  /** The caller's IP address. */
  address: string;
  /** Whether somebody has signed in to this account in this browser before. */
  knownDevice: boolean;
};

/**
 * Slows down the guessing of passwords. It locks nobody out: a stranger's attempts elsewhere never cause a refusal
 * here, and do not affect a browser that has signed in to the account before. Unknown logins count like known ones.
 */
export type SignInThrottle = {
  /**
   * Counts the attempt as a failure, before the password is checked. May take some seconds. Throws `rate_limited`
   * with Retry-After. Unless it throws, exactly one of the following three must be called.
   */
  before(attempt: SignInAttempt): Promise<void>;
  failed(attempt: SignInAttempt): Promise<void>;
  succeeded(attempt: SignInAttempt): Promise<void>;
  /** The password could not be checked: the attempt does not count. */
  abandoned(attempt: SignInAttempt): Promise<void>;
  /** Counts a requested mail by its recipient, by who asks, or both; throws `rate_limited`. */
  countMail(by: { userId?: string; address?: string }): Promise<void>;
};

/** How the attempts on one counter are delayed. Times are in milliseconds. */
export type ThrottlePolicy = {
  /** After the nth attempt, the next is admitted after delays[n], or the last one. */
  delays: readonly number[];
  /** How many attempts cause no delay. */
  free: number;
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

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** No delay for the first `free` attempts, then `first`, doubled each time, up to `max`. */
function doubling(free: number, first: number, max: number): number[] {
  const delays = Array.from({ length: free }, () => 0);
  for (let delay = first; delay < max; delay *= 2) delays.push(delay);
  return [...delays, max];
}

/** One account from one address. Pausing for a day gains nothing over trying every 15 minutes. */
const PAIR: ThrottlePolicy = {
  free: 5,
  delays: doubling(5, SECOND, 15 * MINUTE),
  window: 24 * HOUR,
  sliding: true,
};
/** All accounts from one address. */
const ADDRESS: ThrottlePolicy = {
  free: 50,
  delays: doubling(50, SECOND, 15 * MINUTE),
  window: 15 * MINUTE,
  sliding: false,
};
/** One account from everywhere: it slows attempts down, but never refuses one. */
const ACCOUNT: ThrottlePolicy = { free: 20, delays: [0], window: HOUR, sliding: false };
/** After three, one in ten minutes: however often a stranger asks, the owner's latest link must work for a while. */
const MAILS_TO_ACCOUNT: ThrottlePolicy = {
  free: 3,
  delays: [0, 0, 0, 10 * MINUTE],
  window: HOUR,
  sliding: false,
};
const MAILS_FROM_ADDRESS: ThrottlePolicy = {
  free: 20,
  delays: [...Array.from({ length: 20 }, () => 0), HOUR],
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

  /** The keys of the counters for an attempt; a known device has one of its own, and no other. */
  function countersOf({ address, knownDevice, ...by }: SignInAttempt) {
    const account = 'userId' in by ? ['id', by.userId] : [foldedKey(by.login.trim())];
    const group = addressKey(address);
    const pair = keyOf('pair', knownDevice ? 'known' : 'unknown', group, ...account);
    return {
      pair,
      shared: knownDevice ? [] : [keyOf('address', group), keyOf('account', ...account)],
    };
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
    const [address, account] = shared;
    const counters = [{ key: pair, policy: PAIR }];
    if (address !== undefined && account !== undefined) {
      counters.push({ key: address, policy: ADDRESS }, { key: account, policy: ACCOUNT });
    }
    for (;;) {
      const outcomes = await takeAll(counters);
      const refused = outcomes.filter(({ admitted }) => !admitted);
      if (refused.length === 0) {
        const slow = outcomes[2] === undefined ? 0 : slowdown(outcomes[2]);
        if (slow > 0) await pause(slow);
        return;
      }
      // The others are in progress and not known to have failed, which will be settled soon: a program that signs in
      // many times at once with the right password is not guessing.
      const inProgress = refused.every(({ settled, policy }) => settled < policy.free);
      const again = inProgress && now() < deadline && (await pause(POLL_MS));
      if (!again) throw tooManyAttempts(refused);
    }
  }

  /** Records how an attempt ended, and lets the next one proceed. */
  async function end(attempt: SignInAttempt, write: (pair: string, shared: string[]) => Promise<unknown>) {
    const { pair, shared } = countersOf(attempt);
    try {
      await write(pair, shared);
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
      end(attempt, (pair, shared) => Promise.all([store.reset(pair), store.giveBack(shared)])),
    abandoned: (attempt) => end(attempt, (pair, shared) => store.giveBack([pair, ...shared])),
    async countMail({ userId, address }) {
      const outcomes = await takeAll([
        ...(userId === undefined ? [] : [{ key: keyOf('mail', userId), policy: MAILS_TO_ACCOUNT }]),
        ...(address === undefined
          ? []
          : [{ key: keyOf('mails from', addressKey(address)), policy: MAILS_FROM_ADDRESS }]),
      ]);
      const refused = outcomes.filter(({ admitted }) => !admitted);
      if (refused.length > 0) throw tooManyAttempts(refused);
    },
  };
}
