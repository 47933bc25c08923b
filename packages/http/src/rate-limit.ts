import { isIPv6 } from 'node:net';
import { ServiceError } from '@gatehouse/kit/errors';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

/** At most `quota` requests in each window of `seconds`, for each key. */
export type RatePolicy = { name: string; quota: number; seconds: number };

export type RateLimiter = {
  /**
   * Counts a request. Returns the headers that tell the caller where it stands
   * (draft-ietf-httpapi-ratelimit-headers), and throws `rate_limited` with them and Retry-After
   * (RFC 9110 §10.2.3) when the quota is used up.
   */
  count(key: string): Promise<Record<string, string>>;
  /** Throws as count() would when the quota is used up; counts nothing. */
  check(key: string): Promise<void>;
};

/** Counts in this process's memory: with several replicas, each allows the whole quota. */
export function createRateLimiter(policy: RatePolicy): RateLimiter {
  const { name, quota, seconds } = policy;
  const counters = new RateLimiterMemory({ keyPrefix: name, points: quota, duration: seconds });
  const headersOf = (left: RateLimiterRes) => ({
    'ratelimit-policy': `"${name}";q=${quota};w=${seconds}`,
    ratelimit: `"${name}";r=${left.remainingPoints};t=${Math.ceil(left.msBeforeNext / 1000)}`,
  });
  const usedUp = (left: RateLimiterRes) => {
    const retryAfter = Math.max(1, Math.ceil(left.msBeforeNext / 1000));
    return new ServiceError('rate_limited', `Too many requests: try again in ${retryAfter} s.`, {
      headers: { ...headersOf(left), 'retry-after': String(retryAfter) },
    });
  };
  return {
    async count(key) {
      try {
        return headersOf(await counters.consume(key));
      } catch (left) {
        throw left instanceof RateLimiterRes ? usedUp(left) : left;
      }
    },
    async check(key) {
      const left = await counters.get(key);
      if (left !== null && left.consumedPoints >= quota) throw usedUp(left);
    },
  };
}

/**
 * What an address is counted under: an IPv4 address is itself; of an IPv6 address it is the first 64 bits, since
 * whoever has one has the other 2^64 as well.
 */
export function addressKey(address: string): string {
  const plain = address.split('%', 1)[0] ?? '';
  if (!isIPv6(plain)) return address;
  // As the URL standard writes it: in small letters, without leading zeros, the longest run of zeros as `::`.
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
