import { ServiceError, unavailable } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import type { Outbound } from '@gatehouse/outbound/outbound';
import { LRUCache } from 'lru-cache';
import type { Application } from '../../core/applications/application.ts';
import { applicationOfDocument, clientIdProblem } from './metadata-document.ts';

/** Of a document, in bytes (draft-ietf-oauth-client-id-metadata-document §6.6 has 5 KB as the size that is always accepted). */
export const MAX_DOCUMENT = 10 * 1024;
/** For the whole exchange, in milliseconds. */
export const DOCUMENT_TIMEOUT_MS = 5000;
/** The shortest and the longest time for which a document is used without being fetched again, in seconds. */
const MIN_FRESH = 60;
const MAX_FRESH = 86_400;
/** For how long one that cannot be fetched any more is still used, in milliseconds. */
const STALE_MS = 86_400_000;
/** How long a document that could not be fetched is not asked for again, in milliseconds. */
const FAILURE_MS = 30_000;
const MAX_CACHED = 1000;
/** How many are fetched at the same time. */
const MAX_FETCHES = 20;

type Entry = { application?: Application; error?: ServiceError; freshUntil: number; usableUntil: number };

/** The documents in which clients describe themselves (draft-ietf-oauth-client-id-metadata-document). */
export type MetadataDocuments = {
  /**
   * The application that the document at this URL describes, from the cache for as long as its headers allow. Throws `invalid` with what is
   * wrong, or `unavailable`.
   *
   * @param beforeFetch called before a request is made; may throw
   */
  find(url: string, beforeFetch?: () => Promise<unknown>): Promise<Application>;
};

export function createMetadataDocuments(options: {
  outbound: Pick<Outbound, 'fetch'>;
  scopes: readonly string[];
  logger: Logger;
}): MetadataDocuments {
  const cache = new LRUCache<string, Entry>({ max: MAX_CACHED });
  const pending = new Map<string, Promise<Entry>>();

  async function fetchDocument(url: string): Promise<Entry> {
    const response = await options.outbound.fetch(url, { headers: { accept: 'application/json' } });
    if (response.status !== 200) {
      await response.body?.cancel();
      // Redirects are not followed (§4): they could lead to another site's document.
      throw new Error(`its server answered with the status ${response.status}`);
    }
    const application = applicationOfDocument(url, await response.json(), options);
    const now = Date.now();
    const freshUntil = now + freshSeconds(response.headers) * 1000;
    return { application, freshUntil, usableUntil: freshUntil + STALE_MS };
  }

  /** The document, or what is wrong with it for a while; one that is known stays in use when it cannot be fetched. */
  async function refresh(url: string, known: Entry | undefined): Promise<Entry> {
    const entry = await fetchDocument(url).catch((error: unknown): Entry => {
      options.logger.info({ err: error, url }, 'a client ID metadata document could not be used');
      const until = Date.now() + FAILURE_MS;
      const isWrong = error instanceof ServiceError || error instanceof SyntaxError;
      if (!isWrong && known?.application !== undefined && known.usableUntil > Date.now()) {
        return { ...known, freshUntil: until };
      }
      return { error: failureOf(error), freshUntil: until, usableUntil: until };
    });
    cache.set(url, entry);
    return entry;
  }

  return {
    async find(url, beforeFetch) {
      const problem = clientIdProblem(url);
      if (problem !== undefined) throw new ServiceError('invalid', `The client_id ${problem}.`);
      let entry = cache.get(url);
      if (entry === undefined || entry.freshUntil <= Date.now()) {
        let fetching = pending.get(url);
        if (fetching === undefined) {
          await beforeFetch?.();
          fetching = pending.get(url);
        }
        if (fetching === undefined) {
          if (pending.size >= MAX_FETCHES)
            throw unavailable('Too many clients are being looked up. Try again.');
          fetching = refresh(url, entry).finally(() => pending.delete(url));
          pending.set(url, fetching);
        }
        entry = await fetching;
      }
      if (entry.application === undefined) throw entry.error;
      return entry.application;
    },
  };
}

/** What the developer of the client is told. */
function failureOf(error: unknown): ServiceError {
  const begin = 'The client ID metadata document';
  if (error instanceof ServiceError)
    return new ServiceError('invalid', `${begin} is wrong: ${error.message}`);
  if (error instanceof SyntaxError) return new ServiceError('invalid', `${begin} is no JSON.`);
  const { name, message } = error as Error;
  if (name === 'BodyTooLargeError')
    return new ServiceError('invalid', `${begin} is longer than ${MAX_DOCUMENT} bytes.`);
  return unavailable(`${begin} could not be fetched: ${message}.`, undefined, FAILURE_MS / 1000);
}

/** For how long a response may be used (RFC 9111 §5.2.2), within bounds. */
function freshSeconds(headers: Headers): number {
  const control = headers.get('cache-control') ?? '';
  const [, seconds = '0'] = /(?:^|,)\s*max-age=(\d+)/i.exec(control) ?? [];
  const wanted = /(?:^|,)\s*no-(?:store|cache)/i.test(control) ? 0 : Number(seconds);
  return Math.min(Math.max(wanted, MIN_FRESH), MAX_FRESH);
}
