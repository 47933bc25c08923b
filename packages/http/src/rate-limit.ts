import { isIPv6 } from 'node:net';
import { ServiceError } from '@gatehouse/kit/errors';
import { createRateLimitMemory, type RateLimitStore, type RateWindow } from './rate-limit-store.ts';

/** At most `quota` requests per key in each window of `seconds`. */
export type RatePolicy = { name: string; quota: number; seconds: number };

export type RateLimiter = {
  /**
   * Counts a request. Returns the rate limit headers (draft-ietf-httpapi-ratelimit-headers); when the quota is used
   * up, throws `rate_limited` with these headers and Retry-After (RFC 9110 §10.2.3).
   */
  count(key: string): Promise<Record<string, string>>;
  /** Throws as count() does when the quota is used up, but counts nothing. */
  check(key: string): Promise<void>;
};

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
    if (known !== undefined && known.count > quota) throw usedUp(known);
  }
  return {
    async count(given) {
      const key = keyOf(given);
      refuseKnown(key);
      const window = await store.count(key, seconds);
      if (window.count <= quota) return headersOf(window);
      if (shared !== undefined) memory.keep(key, window);
      throw usedUp(window);
    },
    async check(given) {
      const key = keyOf(given);
      refuseKnown(key);
      const window = await store.find(key);
      if (window !== undefined && window.count >= quota) throw usedUp(window);
    },
  };
}

/**
 * The key under which an address is counted: an IPv4 address itself, and the /64 network of an IPv6 address, since a
 * subscriber usually has all of its addresses.
 */
export function addressKey(address: string): string {
  const plain = address.split('%', 1)[0] ?? '';
  if (!isIPv6(plain)) return address;
  // URL writes it in lower case, without leading zeros, and with the longest run of zeros as `::`.
  const [head = '', tail] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after];
  if (groups.slice(0, 6).join(':') === '0:0:0:0:0:ffff') {
    const [high = 0, low = 0] = groups.slice(6).map((group) => Number.parseInt(group, 16));
    return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}
