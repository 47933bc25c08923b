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
};

/** Counts in this process's memory: with several replicas, each allows the whole quota. */
export function createRateLimiter(policy: RatePolicy): RateLimiter {
  const { name, quota, seconds } = policy;
  const counters = new RateLimiterMemory({ keyPrefix: name, points: quota, duration: seconds });
  const headersOf = (left: RateLimiterRes) => ({
    'ratelimit-policy': `"${name}";q=${quota};w=${seconds}`,
    ratelimit: `"${name}";r=${left.remainingPoints};t=${Math.ceil(left.msBeforeNext / 1000)}`,
  });
  return {
    async count(key) {
      try {
        return headersOf(await counters.consume(key));
      } catch (left) {
        if (!(left instanceof RateLimiterRes)) throw left;
        const retryAfter = Math.max(1, Math.ceil(left.msBeforeNext / 1000));
        throw new ServiceError('rate_limited', `Too many requests: try again in ${retryAfter} s.`, {
          headers: { ...headersOf(left), 'retry-after': String(retryAfter) },
        });
      }
    },
  };
}
