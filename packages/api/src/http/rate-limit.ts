import { isIPv6 } from 'node:net';
import { ServiceError } from '@gatehouse/core/errors';
import { createRateLimitMemory, type RateLimitStore, type RateWindow } from './rate-limit-store.ts';

/** At most `quota` requests per key in each window of `seconds`. */
export type RatePolicy = { name: string; quota: number; seconds: number };

type Taken = { left: number; headers: Record<string, string> };

export type RateLimiter = {
  /**
   * Counts a request. Returns the rate limit headers (draft-ietf-httpapi-ratelimit-headers); when the quota is used
   * up, throws `rate_limited` with these headers and Retry-After (RFC 9110 §10.2.3). Refused requests are not counted.
   */
  count(key: string): Promise<Record<string, string>>;
  /** The same, with the number of requests that are left. */
  take(key: string): Promise<Taken>;
  /** Throws as count() does when the quota is used up, but counts nothing. */
  check(key: string): Promise<void>;
  /** Takes back the count of a request that did not fail, where only failures count. */
  refund(key: string): Promise<void>;
  /** Takes back all counts of the key, such as those of failures in a row, which end with a success. */
  forget(key: string): Promise<void>;
};

/** A limiter whose keys are addresses. */
export type AddressLimiter = Omit<RateLimiter, 'take'>;

/**
 * Counts in this process's memory, so that each of several replicas allows the whole quota, or for all of them in `shared`. A
 * key whose quota is used up is refused without asking that store again.
 */
export function createRateLimiter(policy: RatePolicy, shared?: RateLimitStore): RateLimiter {
  const { name, quota, seconds } = policy;
  const memory = createRateLimitMemory();
  const store: RateLimitStore = shared ?? memory;
  const keyOf = (key: string) => `${name} ${key}`;
  const headersOf = ({ count, endsAt }: RateWindow) => ({
    'ratelimit-policy': `"${name}";q=${quota};w=${seconds}`,
    ratelimit: `"${name}";r=${Math.max(quota - count, 0)};t=${Math.ceil((endsAt - Date.now()) / 1000)}`,
  });
  const usedUp = (window: RateWindow) => {
    const retryAfter = Math.max(1, Math.ceil((window.endsAt - Date.now()) / 1000));
    return new ServiceError('rate_limited', `Too many requests: try again in ${retryAfter} s.`, {
      headers: { ...headersOf(window), 'retry-after': String(retryAfter) },
    });
  };
  /** Throws when the quota was used up as far as this process knows. */
  function refuseKnown(key: string): void {
    const known = memory.find(key);
    if (known !== undefined && known.count >= quota) throw usedUp(known);
  }
  const limiter: RateLimiter = {
    count: async (key) => (await limiter.take(key)).headers,
    async take(given) {
      const key = keyOf(given);
      refuseKnown(key);
      const window = await store.count(key, seconds);
      if (window.count <= quota) return { left: quota - window.count, headers: headersOf(window) };
      if (shared !== undefined) {
        memory.keep(key, { ...window, count: quota });
        await shared.refund(key);
      }
      throw usedUp(window);
    },
    async check(given) {
      const key = keyOf(given);
      refuseKnown(key);
      const window = await store.find(key);
      if (window !== undefined && window.count >= quota) throw usedUp(window);
    },
    async refund(given) {
      const key = keyOf(given);
      await store.refund(key);
      // A counter that was copied to memory because it was used up has a request left again.
      if (shared !== undefined) memory.refund(key);
    },
    async forget(given) {
      const key = keyOf(given);
      await store.forget(key);
      memory.forget(key);
    },
  };
  return limiter;
}

/**
 * Counts a request in several limits, in their order, and returns the headers of the tightest: that with the fewest requests left,
 * the first of equals. A request that one of them refuses counts for none.
 */
export async function countAll(
  limits: readonly { limiter: RateLimiter; key: string }[],
): Promise<Record<string, string>> {
  const counted: (typeof limits)[number][] = [];
  let tightest: Taken = { left: Number.POSITIVE_INFINITY, headers: {} };
  try {
    for (const limit of limits) {
      const taken = await limit.limiter.take(limit.key);
      counted.push(limit);
      if (taken.left < tightest.left) tightest = taken;
    }
  } catch (error) {
    for (const { key, limiter } of counted) await limiter.refund(key);
    throw error;
  }
  return tightest.headers;
}

/**
 * Counts by address, which is the key: an IPv6 address also with the networks around it, each of which has twice the quota
 * of the one within it. A request that one of them refuses counts for none.
 */
export function createAddressLimiter(policy: RatePolicy, shared?: RateLimitStore): AddressLimiter {
  const limiters = [1, 2, 4].map((times) =>
    createRateLimiter({ ...policy, quota: policy.quota * times }, shared),
  );
  const eachOf = (address: string) =>
    addressKeys(address).map((key, i) => ({ key, limiter: limiters[i] as RateLimiter }));
  return {
    count: (address) => countAll(eachOf(address)),
    async check(address) {
      for (const { key, limiter } of eachOf(address)) await limiter.check(key);
    },
    async refund(address) {
      for (const { key, limiter } of eachOf(address)) await limiter.refund(key);
    },
    async forget(address) {
      for (const { key, limiter } of eachOf(address)) await limiter.forget(key);
    },
  };
}

/**
 * The keys under which an address is counted, from the smallest network to the largest: an IPv4 address itself; of an IPv6
 * address the /64, /56 and /48, since a subscriber has one of those to choose addresses from (RFC 6177 §2).
 */
export function addressKeys(address: string): readonly [string, ...string[]] {
  const plain = address.split('%', 1)[0] ?? '';
  if (!isIPv6(plain)) return [address];
  // URL writes it in lower case, without leading zeros, and with the longest run of zeros as `::`.
  const [head = '', tail] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after];
  if (groups.slice(0, 6).join(':') === '0:0:0:0:0:ffff') {
    const [high = 0, low = 0] = groups.slice(6).map((group) => Number.parseInt(group, 16));
    return [[high >> 8, high & 255, low >> 8, low & 255].join('.')];
  }
  const [first, second, third, fourth = '0'] = groups;
  const site = `${first}:${second}:${third}`;
  const upper = (Number.parseInt(fourth, 16) & 0xff00).toString(16);
  return [`${site}:${fourth}::/64`, `${site}:${upper}::/56`, `${site}::/48`];
}
