import { setTimeout as sleep } from 'node:timers/promises';
import type { Fetch } from './requests.ts';

/** Requests since the start: accepted by the kind of caller, and refused by status and error, such as `401 invalid_token`. */
export type RequestCounts = Record<'person' | 'machine' | 'key', number> & {
  refused: Record<string, number>;
};

export type Reports = {
  /** Begins to report as a verifier of this API, again if reports were refused. */
  begin(resourceId: string): void;
  /** Reports a revocation that is in force here, if it is that of a test. */
  noteApplied(id: string): void;
  /** Sends the last counts, within 1.5 seconds or not at all. */
  close(): Promise<void>;
};

const INTERVAL_MS = 30_000;
const TIMEOUT_MS = 1500;
/** The bound of the issuer. */
const MAX_ERRORS = 20;

export function noRequests(): RequestCounts {
  return { person: 0, machine: 0, key: 0, refused: {} };
}

/**
 * Reports to the issuer what this process has verified, for the owner of the API. Counts are totals, so that a report makes up for those
 * that failed. One is sent at a time.
 */
export function createReports(options: {
  issuer: string;
  /** The ID of the verifier. */
  id: string;
  fetch: Fetch;
  headers: Record<string, string>;
  counts: RequestCounts;
}): Reports {
  const { issuer, id, fetch, counts } = options;
  const headers = { ...options.headers, 'content-type': 'application/json' };
  let url: string | undefined;
  let applied: string | undefined;
  let reported = JSON.stringify(counts);
  let sending: Promise<void> | undefined;

  async function post(): Promise<void> {
    if (url === undefined) return;
    const current = JSON.stringify(counts);
    const body = JSON.stringify({ applied, requests: requestsOf(counts) });
    applied = undefined;
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'error', signal });
    if (response.ok) reported = current;
    // An older issuer has no reports.
    else if (response.status < 500) url = undefined;
    await response.body?.cancel();
  }

  async function send(): Promise<void> {
    do await post().catch(() => {});
    while (applied !== undefined && url !== undefined);
    sending = undefined;
  }

  function sendNews(): Promise<void> | undefined {
    if (applied !== undefined || JSON.stringify(counts) !== reported) sending ??= send();
    return sending;
  }
  const timer = setInterval(sendNews, INTERVAL_MS).unref();

  return {
    begin(resourceId) {
      url = `${issuer}/api/v1/resources/${encodeURIComponent(resourceId)}/verifiers/${id}/report`;
    },
    noteApplied(revocation) {
      if (!revocation.startsWith('revocation-test-')) return;
      applied = revocation;
      void sendNews();
    },
    async close() {
      clearInterval(timer);
      const last = Promise.resolve(sending).then(sendNews);
      await Promise.race([last, sleep(TIMEOUT_MS, undefined, { ref: false })]);
    },
  };
}

function requestsOf({ refused, ...accepted }: RequestCounts) {
  const errors = Object.entries(refused).slice(0, MAX_ERRORS);
  return {
    ...accepted,
    refused: errors.map(([reason, count]) => {
      const [status, error] = reason.split(' ');
      return { status: Number(status), error, count };
    }),
  };
}
