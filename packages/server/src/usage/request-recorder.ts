import { newId } from '@gatehouse/core/ids';
import { type CompletedRequest, UNKNOWN_ROUTE } from '../completed-request.ts';
import type { LoggedRequest } from './usage-batch.ts';

/**
 * For requests with a credential of the client, and for those that only name it, which anybody can send: the requests of one
 * application between two batches, beyond which they are counted only; those that wait in memory, of some 500 bytes each; and how
 * many of these may be successful.
 */
const LIMITS = {
  authenticated: { ofClient: { failed: 100, succeeded: 20 }, waiting: 2000, waitingSucceeded: 1000 },
  namedOnly: { ofClient: { failed: 20, succeeded: 20 }, waiting: 500, waitingSucceeded: 250 },
};
/** Requests of one batch, at most 2 KB each. */
const MAX_IN_BATCH = 200;
const MAX_TEXT = 240;

/** Ids of clients that stand for no application: those of logins at the API, and of the pages of identity. */
const OWN_CLIENTS: ReadonlySet<string> = new Set(['gatehouse-login', 'gatehouse-account']);
/** Ids of ours are no secrets; those of people are left out all the same. */
const SHOWN_ID = /^(?!usr_)[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}$/;
const ANY_ID = /^[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}$/;
/** The words that may be part of a credential in a text. Other words and numbers are shorter, or have no digits. */
const LONG_WORD = /[\w~+=%-]{16,}/g;

/** Collects the requests of applications for their log, in bounded memory. */
export function createRequestRecorder() {
  const authenticated = createPool(LIMITS.authenticated);
  const namedOnly = createPool(LIMITS.namedOnly);

  return {
    /** For a request beyond the limit, nothing is kept and little is done. */
    observe({ route, client, status, ms, path, info }: CompletedRequest): void {
      if (client === undefined || info === undefined || route === UNKNOWN_ROUTE) return;
      if (info.actors === undefined && OWN_CLIENTS.has(client)) return;
      const { failure } = info;
      const isFailed = status >= 400 || failure !== undefined;
      const pool = info.namedOnly === true ? namedOnly : authenticated;
      if (!pool.admits(client, isFailed)) return;
      const [method = '', pattern = ''] = route.split(' ', 2);
      pool.waiting.push({
        id: newId('rlg'),
        client,
        authenticated: pool === authenticated,
        method,
        path: shownPath(pattern, path ?? ''),
        status,
        ms: Math.round(ms * 10) / 10,
        request_id: info.id,
        credential: info.credential ?? null,
        code: failure?.code ?? null,
        message: failure === undefined ? null : withoutSecrets(failure.message),
        scope: failure?.scope ?? null,
        ...(info.actors === undefined ? {} : { actors: [...info.actors] }),
        ...(info.workload === undefined ? {} : { workload: info.workload }),
      });
    },
    /** Takes the requests out of the recorder, or a part of them when there are many. */
    take(): { log: LoggedRequest[]; isAll: boolean } {
      const log = authenticated.take(MAX_IN_BATCH);
      log.push(...namedOnly.take(MAX_IN_BATCH - log.length));
      return { log, isAll: authenticated.waiting.length + namedOnly.waiting.length === 0 };
    },
  };
}

function createPool(limits: (typeof LIMITS)[keyof typeof LIMITS]) {
  const waiting: LoggedRequest[] = [];
  const ofClient = new Map<string, { failed: number; succeeded: number }>();
  let succeeded = 0;
  return {
    waiting: waiting as Pick<LoggedRequest[], 'push' | 'length'>,
    /** Counts a request of the client, unless it is one too many. */
    admits(client: string, isFailed: boolean): boolean {
      if (waiting.length >= limits.waiting || (!isFailed && succeeded >= limits.waitingSucceeded))
        return false;
      let counts = ofClient.get(client);
      if (counts === undefined) {
        counts = { failed: 0, succeeded: 0 };
        ofClient.set(client, counts);
      }
      const kind = isFailed ? 'failed' : 'succeeded';
      if (counts[kind] >= limits.ofClient[kind]) return false;
      counts[kind] += 1;
      if (!isFailed) succeeded += 1;
      return true;
    },
    take(max: number): LoggedRequest[] {
      const taken = waiting.splice(0, max);
      if (waiting.length === 0) {
        ofClient.clear();
        succeeded = 0;
      }
      return taken;
    },
  };
}

/** The pattern of a route, with those of its parameters that are ids. */
function shownPath(pattern: string, path: string): string {
  if (!pattern.includes(':')) return pattern.slice(0, MAX_TEXT);
  const given = path.split('/');
  const shown = pattern.split('/').map((part, i) => {
    const value = given[i] ?? '';
    return part.startsWith(':') && SHOWN_ID.test(value) ? value : part;
  });
  return shown.join('/').slice(0, MAX_TEXT);
}

/**
 * A message may repeat parts of the request, so words that look like a part of a credential are removed. Before the text is cut, since the
 * rest of a credential at the cut would be too short to look like one.
 */
function withoutSecrets(text: string): string {
  return text
    .replace(LONG_WORD, (word) =>
      /[A-Za-z]/.test(word) && /\d/.test(word) && !ANY_ID.test(word) ? '…' : word,
    )
    .slice(0, MAX_TEXT);
}
