import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Part } from '@gatehouse/core/lifecycle';
import type { Logger } from '@gatehouse/core/logger';
import type { EventQueue } from './event-queue.ts';
import type { EventStream } from './event-stream.ts';
import type { EventStreamStore } from './event-stream-store.ts';
import type { createEventTokens } from './event-token.ts';

/** The longest wait for an event; clients and proxies close requests after 30 seconds. */
const WAIT_MS = 25_000;
/** How often it is looked for an event whose announcement was lost. */
const LOOK_MS = 2000;
export const MAX_EVENTS = 100;

/** The members of a request (RFC 8936 §2.2). */
export type Poll = {
  maxEvents?: number;
  returnImmediately?: boolean;
  ack?: readonly string[];
  setErrs?: Readonly<Record<string, { err?: string }>>;
};

/** Hands over the events that applications fetch (RFC 8936). One request of a stream waits at a time: a further one replaces it. */
export function createEventPolls(options: {
  streams: Pick<EventStreamStore, 'find'>;
  events: Pick<EventQueue, 'waiting' | 'end' | 'onWaiting'>;
  tokenOf: ReturnType<typeof createEventTokens>;
  logger: Logger;
}): Part & {
  poll(
    stream: EventStream,
    request: Poll,
    response: ServerResponse,
    /** Whether the credential of the request has not ended. */
    holds: () => Promise<boolean>,
  ): Promise<{ sets: Record<string, string>; moreAvailable: boolean }>;
} {
  const { streams, events, tokenOf, logger } = options;
  const waiting = new Map<string, { wake(): void; isOver: boolean }>();
  const end = (streamId: string) => {
    const waiter = waiting.get(streamId);
    if (waiter === undefined) return;
    waiter.isOver = true;
    waiter.wake();
  };
  events.onWaiting((streamId) => waiting.get(streamId)?.wake());

  /** Resolves when there may be an event, or nobody waits for it any more. */
  async function untilEvents(id: string, response: ServerResponse, find: () => Promise<boolean>) {
    end(id);
    const waiter = { wake() {}, isOver: response.destroyed };
    waiting.set(id, waiter);
    const leave = () => {
      waiter.isOver = true;
      waiter.wake();
    };
    response.once('close', leave);
    const until = Date.now() + WAIT_MS;
    while (!waiter.isOver && Date.now() < until) {
      // Before the database is read: an event that is stored meanwhile wakes it.
      const { promise: woken, resolve } = Promise.withResolvers<void>();
      waiter.wake = resolve;
      if (await find()) break;
      const pause = new AbortController();
      const look = sleep(Math.min(LOOK_MS, until - Date.now()), undefined, pause).catch(() => {});
      await Promise.race([woken, look]);
      pause.abort();
    }
    response.off('close', leave);
    if (waiting.get(id) === waiter) waiting.delete(id);
  }

  return {
    async poll(stream, request, response, holds) {
      const { maxEvents: asked = MAX_EVENTS, returnImmediately = false, ack = [], setErrs = {} } = request;
      const { id, clientId } = stream;
      const refused = Object.values(setErrs).map(({ err }) => String(err).slice(0, 100));
      if (refused.length > 0)
        logger.warn({ client: clientId, errors: refused.slice(0, 10) }, 'security events were not accepted');
      await events.end(id, [...ack, ...Object.keys(setErrs)]);
      const max = Math.min(asked, MAX_EVENTS);
      // The status can change while the request waits.
      const isEnabled = async () => (await streams.find(id))?.status === 'enabled';
      const find = async () => (await events.waiting(id, 1)).length > 0 && (await isEnabled());
      if (max > 0 && !returnImmediately) await untilEvents(id, response, find);
      const mayRead = (await isEnabled()) && (await holds());
      const found = mayRead ? await events.waiting(id, max + 1) : [];
      const sets = await Promise.all(
        found.slice(0, max).map(async (it) => [it._id, await tokenOf(it, clientId)] as const),
      );
      return { sets: Object.fromEntries(sets), moreAvailable: found.length > max };
    },
    async stop() {
      for (const id of waiting.keys()) end(id);
    },
  };
}
