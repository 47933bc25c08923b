import { setTimeout as sleep } from 'node:timers/promises';
import type { Reports } from './reports.ts';
import { type Fetch, fetchJson, StatusError } from './requests.ts';
import { type RevocationSet, readRevocation } from './revocations.ts';
import { readEvents, type ServerSentEvent } from './server-sent-events.ts';

export type FeedState = 'connected' | 'silent' | 'refused';

export type Feed = {
  /** Whether everything that was revoked until a few seconds ago is known. */
  isFresh(): boolean;
  /** Resolves when the revocations are loaded, or a second after the start. */
  readonly started: Promise<void>;
  /** The time since everything was known; undefined before that. */
  behindSeconds(): number | undefined;
  /** Ends the feed at once, and resolves after the last report. */
  close(): Promise<void>;
};

const RETRY_MS = { first: 200, max: 5000, refused: 30_000 };
/** A connection without a byte for this long is broken off: a heartbeat comes every two seconds. */
const IDLE_MS = 6000;
const START_MS = 1000;
const MAX_RETRY_AFTER_SECONDS = 300;
const FINAL_STATUSES = [401, 403, 404];

/** Follows the feed of an API's revocations, and adds them to the set. */
export function createFeed(options: {
  issuer: string;
  audience: string;
  set: RevocationSet;
  fetch: Fetch;
  staleAfterSeconds: number;
  /** Headers with the credentials, which describe this process. */
  headers: Record<string, string>;
  reports: Reports;
  /** Called when the state changes; `status` is that of the error. */
  onState(state: FeedState, status?: number): void;
}): Feed {
  const { set, reports, onState } = options;
  const closing = new AbortController();
  const staleAfterMs = options.staleAfterSeconds * 1000;
  let finishStart = () => {};
  const started = new Promise<void>((resolve) => {
    finishStart = resolve;
  });
  let resourceId: string | undefined;
  let lastEventId: string | undefined;
  const freshness = createFreshness();
  let failures = 0;
  let state: FeedState | undefined;

  function report(next: FeedState, status?: number): void {
    if (next !== state && !closing.signal.aborted) onState(next, status);
    state = next;
  }

  const silence = setTimeout(() => report('silent'), staleAfterMs).unref();
  setTimeout(finishStart, START_MS).unref();

  function handle({ id, data, isComment }: ServerSentEvent): void {
    if (data !== undefined) {
      const entry = JSON.parse(data);
      const revocation = readRevocation({ ...entry, expiresAt: entry?.until });
      if (revocation !== undefined) {
        set.add(revocation);
        reports.noteApplied(revocation.id);
      }
    } else if (isComment && id !== undefined) {
      freshness.confirm();
      failures = 0;
      silence.refresh();
      finishStart();
      report('connected');
    }
    // After the entry is in the set: the next connection begins behind it.
    if (id !== undefined) lastEventId = id;
  }

  async function listen(): Promise<void> {
    resourceId ??= await findResource({ ...options, signal: closing.signal });
    const idle = new AbortController();
    const timer = setTimeout(() => idle.abort(new Error('the feed is idle')), IDLE_MS).unref();
    try {
      const signal = AbortSignal.any([closing.signal, idle.signal]);
      const body = await openStream({ ...options, resourceId, lastEventId, signal });
      reports.begin(resourceId);
      for await (const event of readEvents(body, () => timer.refresh())) handle(event);
    } finally {
      clearTimeout(timer);
      idle.abort();
    }
  }

  /** The pause after a connection, in milliseconds. */
  function pauseAfter(error: unknown): number {
    const { status = 0, retryAfterSeconds = 0 } = error instanceof StatusError ? error : {};
    failures += 1;
    if (FINAL_STATUSES.includes(status)) {
      const wasConnected = freshness.isKnown();
      // It may have been registered again, under another ID.
      resourceId = lastEventId = undefined;
      freshness.reset();
      report('refused', status);
      return jittered(wasConnected ? RETRY_MS.first : RETRY_MS.refused);
    }
    const pause = jittered(Math.min(RETRY_MS.first * 2 ** (failures - 1), RETRY_MS.max));
    return Math.max(pause, Math.min(retryAfterSeconds, MAX_RETRY_AFTER_SECONDS) * 1000);
  }

  async function follow(): Promise<void> {
    const { signal } = closing;
    while (!signal.aborted) {
      const error = await listen().catch((thrown: unknown) => thrown);
      if (!signal.aborted) await sleep(pauseAfter(error), undefined, { signal, ref: false }).catch(() => {});
    }
  }
  void follow();

  return {
    isFresh: () => freshness.behindMs() <= staleAfterMs,
    started,
    behindSeconds: () => (freshness.isKnown() ? freshness.behindMs() / 1000 : undefined),
    async close() {
      closing.abort();
      clearTimeout(silence);
      finishStart();
      await reports.close();
    },
  };
}

/** The time when everything was known last, by the monotonic clock, which stands still while the machine sleeps, and by the wall clock. */
function createFreshness() {
  const never = { monotonic: Number.NEGATIVE_INFINITY, wall: Number.NEGATIVE_INFINITY };
  let at = never;
  return {
    confirm() {
      at = { monotonic: performance.now(), wall: Date.now() };
    },
    reset() {
      at = never;
    },
    isKnown: () => at !== never,
    behindMs: () => Math.max(performance.now() - at.monotonic, Date.now() - at.wall),
  };
}

/** The body of a stream of revocations, after the one with the last ID. */
async function openStream(options: {
  issuer: string;
  fetch: Fetch;
  headers: Record<string, string>;
  resourceId: string;
  lastEventId: string | undefined;
  signal: AbortSignal;
}) {
  const { issuer, fetch, headers, resourceId, lastEventId, signal } = options;
  const position = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  const response = await fetch(`${issuer}/api/v1/resources/${encodeURIComponent(resourceId)}/revocations`, {
    headers: { ...headers, accept: 'text/event-stream', ...position },
    redirect: 'error',
    signal,
  });
  if (response.status !== 200 || response.body === null) throw new StatusError(response);
  return response.body;
}

/** The ID of the API at Gatehouse. */
async function findResource(options: {
  issuer: string;
  audience: string;
  fetch: Fetch;
  headers: Record<string, string>;
  signal: AbortSignal;
  set: Pick<RevocationSet, 'refuseIssuedBefore'>;
}): Promise<string> {
  const { issuer, audience, fetch, headers, signal } = options;
  const query = new URLSearchParams({ identifier: audience });
  const { data } = await fetchJson(fetch, `${issuer}/api/v1/resources?${query}`, { headers, signal });
  const found = Array.isArray(data) ? data.find((it) => Object(it).identifier === audience) : undefined;
  if (typeof found?.id !== 'string') throw new StatusError(new Response(null, { status: 404 }));
  // Tokens for another registration of the URL are not for this one.
  options.set.refuseIssuedBefore(Date.parse(found.created_at) / 1000 || 0);
  return found.id;
}

/** Spreads the requests of replicas over time. */
function jittered(ms: number): number {
  return ms * (0.75 + Math.random() / 2);
}
