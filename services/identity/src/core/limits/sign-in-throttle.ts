import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@gatehouse/core/errors';
import { createKeyedSemaphore } from '@gatehouse/core/keyed-semaphore';
import { type Counter, createCounterKeys, type NamedAccount } from './counter-keys.ts';
import {
  ACCOUNT,
  CODES,
  IN_A_ROW,
  KNOWN_ADDRESS_SECONDS,
  PAIR,
  type ThrottlePolicy,
} from './throttle-policies.ts';

export type { ThrottlePolicy };

/** One attempt to sign in, or a check of the current password, which has no login. */
export type PasswordAttempt = {
  /** The login as it was typed. */
  login?: string;
  /** The account that it names, if it names one. */
  account: NamedAccount | undefined;
  /** The caller's IP address. */
  address: string;
  /** Whether somebody has signed in to this account in this browser before. */
  knownDevice: boolean;
};

/**
 * An attempt that has been counted. `isClosed`: the account has failed too often in a row under all of its names together, and
 * must answer as to a wrong password, whatever the password is.
 */
export type CountedAttempt = PasswordAttempt & { isClosed: boolean; isKnownAddress: boolean };

/**
 * Limits the guessing of passwords. Only failures count. Browsers that have signed in to the account before have limits of
 * their own, which nobody else's attempts affect, and 100 failures in a row. All others together have 100 failures in a row (NIST SP 800-63B §5.2.2),
 * then the account opens to known browsers only, and to known addresses, until somebody signs in there or sets a new password by a mailed link.
 *
 * An address is known from which the password was right in the last 30 days, for everybody behind it, until a new password or another end
 * of all sign-ins. It has 100 failures in a row of its own, and every other limit.
 *
 * The count that others can see is by the login that was typed, whether it names an account or not: nothing tells who has one, or
 * which names are of one account. The row of an account with several names is counted beside that, and closes it silently.
 */
export type SignInThrottle = {
  /**
   * Counts the attempt as a failure, before the password is checked. May take some seconds. Throws `rate_limited`
   * with Retry-After. Unless it throws, exactly one of the following three must be called.
   */
  before(attempt: PasswordAttempt): Promise<CountedAttempt>;
  failed(attempt: CountedAttempt): Promise<void>;
  succeeded(attempt: CountedAttempt): Promise<void>;
  /** The password could not be checked: the attempt does not count. */
  abandoned(attempt: CountedAttempt): Promise<void>;
  /** Somebody has proved by a mailed link that the account is theirs: the failures so far do not count. */
  forgive(account: NamedAccount): Promise<void>;
  /**
   * Counts a guess of a second factor, before it is checked: of an account, browsers that have signed in with one before have a
   * limit of their own. Throws `rate_limited`. `isLast`: the next one would be refused; `wasRight` is to be called when the code was
   * right.
   */
  countCode(guess: {
    id: string;
    /** The account's sign_in_epoch: after a new password, a new row of failures begins. */
    epoch: number;
    isKnownDevice: boolean;
  }): Promise<{ isLast: boolean; wasRight(): Promise<void> }>;
  /** Counts a requested mail by its recipient, by who asks, or both; throws `rate_limited`. */
  countMail(by: { recipient?: string; address?: string }): Promise<void>;
};

/** The outcome of an attempt on one counter. */
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
  reset(keys: readonly string[]): Promise<void>;
};

/** For programs, which have no page to look at. */
const OTHER_WAYS =
  'The sign-in page takes a passkey at once. Or set a new password by the link that /account/forgotten-password sends.';
/** When it is worth trying again: the account opens once its owner does one of these, which may be at any time. */
const CLOSED_SECONDS = 3600;

/** There were too many failures in a row: the account opens to browsers that have signed in to it before. */
export class KnownDevicesOnly extends ServiceError {
  constructor(what: 'passwords' | 'codes') {
    super(
      'rate_limited',
      `Too many wrong ${what} in a row: sign in where you have signed in before. ${OTHER_WAYS}`,
      {
        headers: { 'retry-after': String(CLOSED_SECONDS) },
      },
    );
  }
}

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
  seen: {
    has(parts: readonly string[]): Promise<boolean>;
    isNew(parts: readonly string[], seconds: number): Promise<boolean>;
  };
  key: Buffer;
  now?: () => number;
  wait?: (ms: number) => Promise<unknown>;
}): SignInThrottle {
  const { store, seen, now = Date.now, wait = sleep } = options;
  // Without it, many concurrent sign-ins to one account would delay each other as if they were guesses.
  const semaphore = createKeyedSemaphore({ permits: PAIR.free, maxWaiting: MAX_WAITING });
  const pause = createPause(wait);

  const { keyOf, rowsOf, signedInFrom, countersOf, mailCounters } = createCounterKeys(options.key);

  /** Counts the attempt on all of its counters; see SignInThrottle.before. Returns whether its account is closed. */
  async function count(attempt: Omit<CountedAttempt, 'isClosed'>, deadline: number): Promise<boolean> {
    const { pair, shared } = countersOf(attempt);
    for (;;) {
      const isOverdue = now() >= deadline;
      // A full row of the account closes it, once its attempts are known to have failed, or should be.
      const closes = ({ admitted, silent = false, settled, policy }: Outcome & Counter) =>
        silent && !admitted && (isOverdue || settled >= policy.free);
      const refuses = (outcome: Outcome & Counter) => !outcome.admitted && !closes(outcome);
      const outcomes = await takeAll(store, now(), [{ key: pair, policy: PAIR }, ...shared], refuses);
      const refused = outcomes.filter(refuses);
      if (refused.length === 0) {
        const account = outcomes.find(({ policy }) => policy === ACCOUNT);
        const slow = account === undefined ? 0 : slowdown(account);
        if (slow > 0) await pause(slow);
        return outcomes.some(closes);
      }
      // The others are in progress and not known to have failed, which will be settled soon: a program that signs in
      // many times at once with the right password is not guessing.
      const inProgress = refused.every(({ settled, policy }) => settled < policy.free);
      const again = inProgress && now() < deadline && (await pause(POLL_MS));
      if (again) continue;
      const visible = refused.filter(({ silent }) => silent !== true);
      throw visible.some(({ policy }) => policy === IN_A_ROW)
        ? new KnownDevicesOnly('passwords')
        : tooManyAttempts(visible, now(), OTHER_WAYS);
    }
  }

  /** Records how an attempt ended, and lets the next one proceed. */
  async function end(attempt: CountedAttempt, write: (pair: string, shared: string[]) => Promise<unknown>) {
    // A closed account has not counted it.
    const { pair, shared } = countersOf(attempt, attempt.isClosed);
    try {
      const keys = shared.map(({ key }) => key);
      await write(pair, keys);
    } finally {
      semaphore.release(pair);
    }
  }

  return {
    async before(given) {
      // Also for an unknown name, which must take as long.
      const isKnownAddress = !given.knownDevice && (await seen.has([signedInFrom(given)]));
      const attempt = { ...given, isKnownAddress };
      const { pair } = countersOf(attempt);
      const deadline = now() + MAX_WAIT_MS;
      if (!(await semaphore.acquire(pair, MAX_WAIT_MS))) throw tooManyAttempts([], now(), OTHER_WAYS);
      try {
        return { ...attempt, isClosed: await count(attempt, deadline) };
      } catch (error) {
        semaphore.release(pair);
        throw error;
      }
    },
    failed: (attempt) => end(attempt, (pair, shared) => store.settle([pair, ...shared])),
    succeeded: (attempt) =>
      end(attempt, (pair, shared) => {
        const rows = attempt.account === undefined ? [] : rowsOf(attempt.account);
        return Promise.all([
          seen.isNew([signedInFrom(attempt)], KNOWN_ADDRESS_SECONDS),
          store.reset([pair, ...rows]),
          store.giveBack(shared.filter((key) => !rows.includes(key))),
        ]);
      }),
    async forgive(account) {
      await store.reset(rowsOf(account));
    },
    abandoned: (attempt) => end(attempt, (pair, shared) => store.giveBack([pair, ...shared])),
    ...createCodeAndMailCounts({ store, now, keyOf, mailCounters }),
  };
}

/** The counts that no password is checked for. */
function createCodeAndMailCounts({
  store,
  now,
  keyOf,
  mailCounters,
}: Pick<ReturnType<typeof createCounterKeys>, 'keyOf' | 'mailCounters'> & {
  store: SignInCounters;
  now: () => number;
}): Pick<SignInThrottle, 'countCode' | 'countMail'> {
  return {
    async countCode({ id, epoch, isKnownDevice }) {
      const of = ['code', isKnownDevice ? 'known' : 'unknown', id];
      const row = keyOf('row', ...of, String(epoch));
      const window = keyOf(...of);
      const outcomes = await takeAll(store, now(), [
        { key: window, policy: CODES },
        { key: row, policy: IN_A_ROW },
      ]);
      const refused = outcomes.filter(({ admitted }) => !admitted);
      if (refused.some(({ key }) => key === row)) throw new KnownDevicesOnly('codes');
      if (refused.length > 0) throw tooManyAttempts(refused, now());
      return {
        isLast: outcomes.some(({ count, policy }) => count >= policy.free),
        async wasRight() {
          await Promise.all([store.reset([row]), store.giveBack([window])]);
        },
      };
    },
    async countMail(by) {
      const outcomes = await takeAll(store, now(), mailCounters(by));
      const refused = outcomes.filter(({ admitted }) => !admitted);
      if (refused.length > 0) throw tooManyAttempts(refused, now());
    },
  };
}

/** Waits, unless too many in this process already do; returns whether it did. */
function createPause(wait: (ms: number) => Promise<unknown>) {
  let waiting = 0;
  return async (ms: number): Promise<boolean> => {
    if (waiting >= MAX_WAITING) return false;
    waiting += 1;
    try {
      await wait(ms);
    } finally {
      waiting -= 1;
    }
    return true;
  };
}

/** Counts an attempt on each of the counters, or on none if one refuses it. The first counter decides first. */
async function takeAll(
  store: Pick<SignInCounters, 'take' | 'giveBack'>,
  time: number,
  [first, ...others]: readonly Counter[],
  refuses = (outcome: Outcome & Counter) => !outcome.admitted,
): Promise<(Outcome & Counter)[]> {
  const take = async (counter: Counter) => ({
    ...(await store.take(counter.key, counter.policy, time)),
    ...counter,
  });
  if (first === undefined) return [];
  const one = await take(first);
  if (!one.admitted) return [one];
  const all = [one, ...(await Promise.all(others.map(take)))];
  const admitted = all.filter((it) => it.admitted);
  if (all.some(refuses)) await store.giveBack(admitted.map(({ key }) => key));
  return all;
}

/** How long to slow an attempt down, in milliseconds, given the recent attempts on its account. */
function slowdown(account: Outcome): number {
  const excess = account.count - ACCOUNT.free;
  return excess <= 0 ? 0 : Math.min(MAX_SLOWDOWN_MS, FIRST_SLOWDOWN_MS * 2 ** Math.min(excess - 1, 10));
}

function tooManyAttempts(refused: readonly Outcome[], now: number, advice = ''): ServiceError {
  const ms = Math.max(0, ...refused.map(({ retryAt }) => retryAt)) - now;
  const seconds = Math.max(1, Math.ceil(ms / 1000));
  return new ServiceError(
    'rate_limited',
    `Too many attempts: try again in ${seconds} s. ${advice}`.trimEnd(),
    {
      headers: { 'retry-after': String(seconds) },
    },
  );
}
