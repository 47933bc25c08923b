import { createKeyedSemaphore } from '@gatehouse/core/keyed-semaphore';
import { connectionFailure } from '@gatehouse/outbound/connection-failure';
import { createOutbound, type Outbound } from '@gatehouse/outbound/outbound';
import { retryAfter } from '@gatehouse/outbound/retry-after';
import { LRUCache } from 'lru-cache';
import { type Circuit, createCircuit } from '../circuit.ts';
import type { DeliveryAttempt } from './delivery.ts';

/** How much of the body of a response is kept, in bytes. */
const BODY_BYTES = 1024;
/** Requests of a process to one endpoint at the same time, and deliveries that wait for their turn. */
const SLOTS = { permits: 4, maxWaiting: 1000, maxWaitingOfKey: 4 };
const MAX_WAIT_MS = 1000;
/** The longest pause of a delivery that was turned away. */
const MAX_BUSY_MS = 60_000;
/** Endpoints whose circuits are known. */
const MAX_ENDPOINTS = 20_000;
const PROBE_MS = { first: 5000, max: 300_000 };
/** The longest pause that an endpoint can ask for. */
const MAX_RETRY_AFTER_MS = 12 * 3_600_000;

/** The response of an endpoint, and the pause that it asks for. */
export type EndpointResponse = { attempt: DeliveryAttempt; retryAfterMs?: number };
/** The endpoint was not called; try again after `busyMs`. */
export type PostResult = { busyMs: number } | EndpointResponse;

/** Sends to the endpoints of webhooks; each has slots and a circuit of its own, so that one that hangs delays no other. */
export function createEndpoints(options: { networks: readonly string[]; timeoutMs: number }) {
  const { timeoutMs } = options;
  const outbound = createOutbound({ to: 'public', networks: options.networks, timeoutMs });
  const slots = createKeyedSemaphore(SLOTS);
  const circuits = new LRUCache<string, Circuit>({ max: MAX_ENDPOINTS });
  /** How often deliveries were turned away since one was sent. */
  const rejections = new LRUCache<string, number>({ max: MAX_ENDPOINTS });

  function circuitOf(id: string): Circuit {
    const known = circuits.get(id) ?? createCircuit({ probeMs: PROBE_MS });
    circuits.set(id, known);
    return known;
  }

  function rejectBusy(id: string): PostResult {
    const count = (rejections.get(id) ?? 0) + 1;
    rejections.set(id, count);
    return { busyMs: Math.min(200 * count, MAX_BUSY_MS) };
  }

  return {
    /**
     * Posts the request, unless the endpoint is busy or its circuit is open. A 2xx response is a success. No response of the endpoint is an
     * error of ours; rejects only with the reason of `signal`. Calls `onSend` right before.
     */
    async post(
      id: string,
      { delivery, url, headers, body }: Request,
      { signal, onSend }: { signal: AbortSignal; onSend(): void },
    ): Promise<PostResult> {
      const circuit = circuitOf(id);
      if (circuit.isOpen() || !(await slots.acquire(id, MAX_WAIT_MS))) return rejectBusy(id);
      try {
        // It may have opened while this one waited.
        const busyMs = circuit.admit();
        if (busyMs !== undefined) return { busyMs };
        rejections.delete(id);
        onSend();
        const response = await send(outbound, { url, headers, body }, signal).catch((error: unknown) => {
          circuit.undecided();
          throw error;
        });
        const { status, error } = response.attempt;
        if (error === null) circuit.succeeded();
        else if (status === 429 && response.retryAfterMs) circuit.open(response.retryAfterMs, error);
        else circuit.failed(delivery, error);
        return response;
      } finally {
        slots.release(id);
      }
    },
  };
}

type Request = { delivery: string; url: string; headers: Record<string, string>; body: string };

async function send(
  outbound: Outbound,
  { url, headers, body }: Omit<Request, 'delivery'>,
  signal: AbortSignal,
): Promise<EndpointResponse> {
  const [startedAt, begun] = [new Date(), performance.now()];
  const attemptWith = (more: Partial<DeliveryAttempt>): DeliveryAttempt => ({
    ...{ url, startedAt, durationMs: Math.round(performance.now() - begun) },
    ...{ status: null, body: null, error: null },
    ...more,
  });
  try {
    const response = await outbound.fetch(url, { method: 'POST', headers, body, signal });
    const { status, ok } = response;
    const text = await beginningOf(response);
    const attempt = attemptWith({
      status,
      body: text,
      error: ok ? null : `The endpoint answered ${status}.`,
    });
    const retryAfterMs = retryAfter(response.headers, MAX_RETRY_AFTER_MS);
    return { attempt, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const failure = connectionFailure(error) ?? 'the connection failed';
    return { attempt: attemptWith({ error: `${failure.charAt(0).toUpperCase()}${failure.slice(1)}.` }) };
  }
}

/** The status decides; a body that fails, or goes on, does not matter. */
async function beginningOf({ body }: Response): Promise<string | null> {
  if (body === null) return null;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= BODY_BYTES) break;
    }
  } catch {
    // The bytes that have arrived are kept.
  }
  return Buffer.concat(chunks).subarray(0, BODY_BYTES).toString('utf8');
}
