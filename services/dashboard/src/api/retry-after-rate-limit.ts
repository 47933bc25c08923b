import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from './api-error.ts';

/**
 * Makes a request again when its rate limit allows it, unless that is after the deadline, in milliseconds since 1970. A pause ends
 * when the signal is aborted.
 */
export async function retryAfterRateLimit<T>(
  request: () => Promise<T>,
  deadline: number,
  signal?: AbortSignal,
): Promise<T> {
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 429 || error.retryAfter === undefined) throw error;
      const ms = error.retryAfter * 1000;
      if (Date.now() + ms > deadline) throw error;
      await sleep(ms, undefined, { signal });
    }
  }
}
