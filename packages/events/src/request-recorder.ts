import { newId } from '@gatehouse/core/ids';
import { type CompletedRequest, UNKNOWN_ROUTE } from '@gatehouse/server/completed-request';
import type { LoggedRequest } from './usage-batch.ts';

/** Requests of one application between two batches; the others are counted only. */
const MAX_OF_CLIENT = { failed: 100, succeeded: 20 };
/** Requests that wait in memory, of some 500 bytes each; so many may wait that succeeded. */
const MAX_WAITING = 2000;
const MAX_SUCCEEDED = 1000;
/** Requests of one batch, at most 2 KB each. */
const MAX_IN_BATCH = 200;
const MAX_TEXT = 240;

/** Ids of clients that stand for no application: those of logins at the API, and of the pages of identity. */
const OWN_CLIENTS: ReadonlySet<string> = new Set(['gatehouse-login', 'gatehouse-account']);
/** Ids of ours are no secrets; those of people are left out all the same. */
const SHOWN_ID = /^(?!usr_)[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}$/;
const ANY_ID = /^[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}$/;
/** What may be part of a credential in a text. Words and numbers are shorter, or have no digits. */
const LONG_WORD = /[\w~+=%-]{16,}/g;

/** Collects the requests of applications for their log, in bounded memory. */
export function createRequestRecorder() {
  let waiting: LoggedRequest[] = [];
  let succeeded = 0;
  let ofClient = new Map<string, { failed: number; succeeded: number }>();

  return {
    /** Of a request that is one too many, nothing is kept, and little is done. */
    observe({ route, client, status, ms, path, info }: CompletedRequest): void {
      if (client === undefined || info === undefined || route === UNKNOWN_ROUTE) return;
      if (OWN_CLIENTS.has(client)) return;
      const { failure } = info;
      const isFailed = status >= 400 || failure !== undefined;
      if (waiting.length >= MAX_WAITING || (!isFailed && succeeded >= MAX_SUCCEEDED)) return;
      let counts = ofClient.get(client);
      if (counts === undefined) {
        counts = { failed: 0, succeeded: 0 };
        ofClient.set(client, counts);
      }
      const kind = isFailed ? 'failed' : 'succeeded';
      if (counts[kind] >= MAX_OF_CLIENT[kind]) return;
      counts[kind] += 1;
      if (!isFailed) succeeded += 1;
      const [method = '', pattern = ''] = route.split(' ', 2);
      waiting.push({
        id: newId('rlg'),
        client,
        method,
        path: shownPath(pattern, path ?? ''),
        status,
        ms: Math.round(ms * 10) / 10,
        request_id: info.id,
        credential: info.credential ?? null,
        code: failure?.code ?? null,
        message: failure === undefined ? null : withoutSecrets(failure.message),
        scope: failure?.scope ?? null,
      });
    },
    /** Takes the requests out of the recorder, or a part of them when there are many. */
    take(): { log: LoggedRequest[]; isAll: boolean } {
      const log = waiting.slice(0, MAX_IN_BATCH);
      waiting = waiting.slice(MAX_IN_BATCH);
      if (waiting.length === 0) {
        ofClient = new Map();
        succeeded = 0;
      }
      return { log, isAll: waiting.length === 0 };
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
 * A message may repeat what was sent: what looks like a part of a credential is left out. Before the text is cut, as what is left
 * of a credential at the cut would be too short to look like one.
 */
function withoutSecrets(text: string): string {
  return text
    .replace(LONG_WORD, (word) =>
      /[A-Za-z]/.test(word) && /\d/.test(word) && !ANY_ID.test(word) ? '…' : word,
    )
    .slice(0, MAX_TEXT);
}
