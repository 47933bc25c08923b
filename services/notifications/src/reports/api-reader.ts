import { setTimeout as sleep } from 'node:timers/promises';
import { PermanentError } from '@gatehouse/events/job';
import { createOutbound } from '@gatehouse/outbound/outbound';
import type { ReadList, ReadOne } from './report-types.ts';

/** Throws PermanentError when there is no delegation any more. */
export type DelegatedToken = () => Promise<{ value: string /** In seconds. */; lifetime: number }>;

const TIMEOUT_MS = 30_000;
/** A page of what people can store is within this by far. */
const MAX_BYTES = 32 * 1024 * 1024;
const outbound = createOutbound({ to: 'services', timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES });
/** A token is replaced when less than this is left of it. */
const RENEWED_BEFORE_MS = 60_000;
/** Pauses before a page is asked for again, in milliseconds; without them, one of ten thousand pages would fail the report. */
const PAUSES_MS = [100, 500, 2000, 8000];

/**
 * Reads the API for somebody who has delegated it. The list is read by cursors, so that concurrent writes do not disturb it. Throws
 * PermanentError when the delegation has ended, or the API refuses the request.
 */
export function createApiReader(options: {
  /** Where the services are reached from here. */
  origins: Readonly<Record<'users' | 'commerce' | 'notifications', string>>;
  token: DelegatedToken;
  signal: AbortSignal;
}): { list: ReadList; one: ReadOne } {
  const { origins, signal } = options;
  let token: { value: string; renewAt: number } | undefined;

  async function currentToken(): Promise<string> {
    if (token === undefined || performance.now() >= token.renewAt) {
      const { value, lifetime } = await options.token();
      token = { value, renewAt: performance.now() + lifetime * 1000 - RENEWED_BEFORE_MS };
    }
    return token.value;
  }

  async function ask(url: string): Promise<Record<string, unknown>> {
    const headers = { authorization: `Bearer ${await currentToken()}` };
    const response = await outbound.fetch(url, { headers, signal });
    if (response.ok) return (await response.json()) as Record<string, unknown>;
    await response.body?.cancel();
    const message = `${new URL(url).pathname} answered ${response.status}`;
    if (response.status === 401) {
      // Revoked, or renewed too late: identity says which.
      token = undefined;
      throw new Error(message);
    }
    if (response.status === 429 || response.status >= 500) throw new Error(message);
    throw new PermanentError(
      response.status === 403 ? 'The requester of the report may no longer read its data.' : `${message}.`,
    );
  }

  async function read(url: string): Promise<Record<string, unknown>> {
    for (const pause of PAUSES_MS) {
      try {
        return await ask(url);
      } catch (error) {
        if (error instanceof PermanentError || signal.aborted) throw error;
        await sleep(pause * (0.5 + Math.random()), undefined, { signal });
      }
    }
    return ask(url);
  }

  return {
    async *list(service, path) {
      let next: string | undefined = path;
      while (next !== undefined) {
        const page: Record<string, unknown> = await read(origins[service] + next);
        const { data, links, meta } = page as {
          data?: unknown;
          links?: { next?: string };
          meta?: { totalItems?: number };
        };
        if (!Array.isArray(data)) throw new Error(`${path} did not answer with a page`);
        yield { items: data, total: meta?.totalItems ?? data.length };
        next = links?.next;
      }
    },
    one: (service, path) => read(origins[service] + path),
  };
}
