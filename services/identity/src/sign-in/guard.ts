import { createHmac } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@gatehouse/kit/errors';
import { foldedKey } from '@gatehouse/kit/folded-key';
import { createTurns } from './turns.ts';

/** One try to sign in. */
export type SignInAttempt = {
  /** The name that was given, known or not. */
  login: string;
  /** The caller's IP address. */
  address: string;
  /** Whether somebody has signed in to this account in this browser before. */
  knownDevice: boolean;
};

/**
 * Brakes for guessing passwords. Nobody is locked out: what a stranger does elsewhere refuses nobody, and never
 * touches a browser that has signed in to the account before. Unknown names count exactly as known ones.
 */
export type SignInGuard = {
  /**
   * Counts the attempt, before the password is looked at, as a failure. May take some seconds. Throws
   * `rate_limited` with Retry-After. Exactly one of the three below must follow, unless it throws.
   */
  before(attempt: SignInAttempt): Promise<void>;
  failed(attempt: SignInAttempt): Promise<void>;
  succeeded(attempt: SignInAttempt): Promise<void>;
  /** The password could not be checked: it was as if there had been no attempt. */
  abandoned(attempt: SignInAttempt): Promise<void>;
  /** Counts a mail that somebody asked for, by who gets it, by who asks, or both; throws `rate_limited`. */
  countMail(by: { userId?: string; address?: string }): Promise<void>;
};

/** How a counter brakes. Times are in milliseconds. */
export type Brake = {
  /** The wait after the nth attempt is delays[n], or the last one. */
  delays: readonly number[];
  /** How many attempts are free of any wait. */
  free: number;
  /** When this time is over, counting starts anew. */
  window: number;
  /** Whether the window begins anew with each attempt, so that only quiet ends it. */
  renewed: boolean;
};

/** A counter and how it brakes. */
type Counted = { key: string; brake: Brake };

export type Taken = {
  admitted: boolean;
  /** Attempts of this window, this one included if it was admitted. */
  count: number;
  /** How many of them are known to have failed; the others may still be under way. */
  settled: number;
  /** When the next attempt will be admitted, in milliseconds since the epoch. */
  openAt: number;
};

/** Counters that all replicas share. */
export type SignInCounters = {
  collection: string;
  /** Counts one more, unless the counter's wait is not over. */
  take(key: string, brake: Brake, now: number): Promise<Taken>;
  settle(keys: readonly string[]): Promise<void>;
  giveBack(keys: readonly string[]): Promise<void>;
  reset(key: string): Promise<void>;
};

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** No wait for the first `free` attempts, then the first wait, twice as much each time, at most the last. */
function growing(free: number, first: number, most: number): number[] {
  const delays = Array.from({ length: free }, () => 0);
  for (let delay = first; delay < most; delay *= 2) delays.push(delay);
  return [...delays, most];
}

/** One account from one address. Starting over after a quiet day gains nothing on going on every 15 minutes. */
const PAIR: Brake = { free: 5, delays: growing(5, SECOND, 15 * MINUTE), window: 24 * HOUR, renewed: true };
/** All accounts from one address. */
const ADDRESS: Brake = {
  free: 50,
  delays: growing(50, SECOND, 15 * MINUTE),
  window: 15 * MINUTE,
  renewed: false,
};
/** One account from everywhere: only counted, never closed. */
const ACCOUNT: Brake = { free: 20, delays: [0], window: HOUR, renewed: false };
/** After three, one in ten minutes: a stranger who asks all the time must not keep the owner from one that works. */
const MAILS_OF_ACCOUNT: Brake = { free: 3, delays: [0, 0, 0, 10 * MINUTE], window: HOUR, renewed: false };
const MAILS_OF_ADDRESS: Brake = {
  free: 20,
  delays: [...Array.from({ length: 20 }, () => 0), HOUR],
  window: HOUR,
  renewed: false,
};

/** In milliseconds. */
const SLOWEST = 5000;
const FIRST_SLOWING = 250;
/** How long an attempt waits for others that are under way, and how often it looks. */
const PATIENCE = 10_000;
const LOOK_EVERY = 60;
/** How many may be waiting in this process; more are not slowed down, so that waiting costs no memory. */
const MAX_WAITING = 200;

/** `key` hides names and addresses in the database. `now` and `wait`, in milliseconds, are for tests. */
export function createSignInGuard(options: {
  store: SignInCounters;
  key: Buffer;
  now?: () => number;
  wait?: (ms: number) => Promise<unknown>;
}): SignInGuard {
  const { store, now = Date.now, wait = sleep } = options;
  // Without turns, many who sign in at once to one account would slow each other down, as if they were guessing.
  const turns = createTurns({ most: PAIR.free, mostWaiting: MAX_WAITING });
  let waiting = 0;

  const keyOf = (...parts: string[]) =>
    createHmac('sha256', options.key).update(parts.join('\n')).digest('base64url');

  /** The counters that an attempt is counted by; a known device has one of its own, and no other. */
  function countersOf({ login, address, knownDevice }: SignInAttempt) {
    const account = foldedKey(login.trim());
    const group = addressGroup(address);
    const pair = keyOf('pair', knownDevice ? 'known' : 'unknown', group, account);
    return {
      pair,
      shared: knownDevice ? [] : [keyOf('address', group), keyOf('account', account)],
    };
  }

  /** Waits, unless too many do already; tells whether it did. */
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

  /** Counts an attempt by each of the counters, or by none. The first one is asked first. */
  async function takeAll([first, ...others]: readonly Counted[]): Promise<(Taken & Counted)[]> {
    const time = now();
    const take = async (counted: Counted) => ({
      ...(await store.take(counted.key, counted.brake, time)),
      ...counted,
    });
    if (first === undefined) return [];
    const one = await take(first);
    if (!one.admitted) return [one];
    const all = [one, ...(await Promise.all(others.map(take)))];
    const admitted = all.filter((it) => it.admitted);
    if (admitted.length < all.length) await store.giveBack(admitted.map(({ key }) => key));
    return all;
  }

  /** How long the attempt is to wait, by what the account has been through. */
  function slowing(account: Taken): number {
    const beyond = account.count - ACCOUNT.free;
    return beyond <= 0 ? 0 : Math.min(SLOWEST, FIRST_SLOWING * 2 ** Math.min(beyond - 1, 10));
  }

  /** Counts the attempt by all of its counters; see SignInGuard.before. */
  async function admit(attempt: SignInAttempt, deadline: number): Promise<void> {
    const { pair, shared } = countersOf(attempt);
    const [address, account] = shared;
    const counters = [{ key: pair, brake: PAIR }];
    if (address !== undefined && account !== undefined) {
      counters.push({ key: address, brake: ADDRESS }, { key: account, brake: ACCOUNT });
    }
    for (;;) {
      const taken = await takeAll(counters);
      const closed = taken.filter(({ admitted }) => !admitted);
      if (closed.length === 0) {
        const slow = taken[2] === undefined ? 0 : slowing(taken[2]);
        if (slow > 0) await pause(slow);
        return;
      }
      // Only under way, and not known to have failed: that will be settled soon. A program that signs in many
      // times at once with the right password is no guesser.
      const underWay = closed.every(({ settled, brake }) => settled < brake.free);
      const again = underWay && now() < deadline && (await pause(LOOK_EVERY));
      if (!again) throw tooMany(Math.max(...closed.map(({ openAt }) => openAt)) - now());
    }
  }

  /** Writes down how an attempt ended, and lets the next one have its turn. */
  async function end(attempt: SignInAttempt, write: (pair: string, shared: string[]) => Promise<unknown>) {
    const { pair, shared } = countersOf(attempt);
    try {
      await write(pair, shared);
    } finally {
      turns.end(pair);
    }
  }

  return {
    async before(attempt) {
      const { pair } = countersOf(attempt);
      const deadline = now() + PATIENCE;
      if (!(await turns.take(pair, PATIENCE))) throw tooMany(0);
      try {
        await admit(attempt, deadline);
      } catch (error) {
        turns.end(pair);
        throw error;
      }
    },
    failed: (attempt) => end(attempt, (pair, shared) => store.settle([pair, ...shared])),
    succeeded: (attempt) =>
      end(attempt, (pair, shared) => Promise.all([store.reset(pair), store.giveBack(shared)])),
    abandoned: (attempt) => end(attempt, (pair, shared) => store.giveBack([pair, ...shared])),
    async countMail({ userId, address }) {
      const taken = await takeAll([
        ...(userId === undefined ? [] : [{ key: keyOf('mail', userId), brake: MAILS_OF_ACCOUNT }]),
        ...(address === undefined
          ? []
          : [{ key: keyOf('mails from', addressGroup(address)), brake: MAILS_OF_ADDRESS }]),
      ]);
      const closed = taken.filter(({ admitted }) => !admitted);
      if (closed.length > 0) throw tooMany(Math.max(...closed.map(({ openAt }) => openAt)) - now());
    },
  };
}

function tooMany(ms: number): ServiceError {
  const seconds = Math.max(1, Math.ceil(ms / 1000));
  return new ServiceError('rate_limited', `Too many attempts: try again in ${seconds} s.`, {
    headers: { 'retry-after': String(seconds) },
  });
}

/** What one person has of addresses: an IPv4 address, or the /64 of an IPv6 one. */
export function addressGroup(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail] = (address.split('%')[0] ?? '').toLowerCase().split('::');
  const first = head.split(':').filter(Boolean);
  const last = tail?.split(':').filter(Boolean) ?? [];
  const zeros =
    tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0');
  return [...first, ...zeros, ...last]
    .slice(0, 4)
    .map((part) => part.replace(/^0+(?=.)/, ''))
    .join(':');
}
