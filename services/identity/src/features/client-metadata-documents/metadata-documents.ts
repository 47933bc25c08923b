import { addressKeys } from '@gatehouse/api/http/rate-limit';
import { ServiceError, unavailable } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { BodyTooLargeError, type Outbound } from '@gatehouse/outbound/outbound';
import { LRUCache } from 'lru-cache';
import type { Application } from '../../core/applications/application.ts';
import type { createKeptDocuments } from './kept-documents.ts';
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
/** How many are fetched at the same time, for requests from one address, and from one host. */
const MAX_FETCHES = 200;
const MAX_FETCHES_OF_ONE = 4;

type Known = { application: Application; text: string };
type Entry = { known?: Known; error?: ServiceError; freshUntil: number; usableUntil: number };

/** The documents in which clients describe themselves (draft-ietf-oauth-client-id-metadata-document). */
export type MetadataDocuments = {
  /**
   * The application that the document at this URL describes, from the cache for as long as its headers allow. Throws `invalid` with what is
   * wrong, `rate_limited`, or `unavailable`.
   *
   * @param requester the address of the request for which it may be fetched
   */
  find(url: string, requester: string): Promise<Application>;
  /** The last document of a client that somebody may have allowed, without a request to its server. */
  known(url: string): Promise<Application | undefined>;
  /** Keeps the document of a client that somebody has allowed, for when its server is away. */
  keep(url: string): Promise<void>;
};

export function createMetadataDocuments(options: {
  outbound: Pick<Outbound, 'fetch'>;
  scopes: readonly string[];
  /** Counts a fetch for an address. Throws `rate_limited`. */
  count(requester: string): Promise<unknown>;
  kept: Pick<ReturnType<typeof createKeptDocuments>, 'find' | 'save'>;
  /** Whether somebody has allowed the client. */
  isAllowed(url: string): Promise<boolean>;
  logger: Logger;
}): MetadataDocuments {
  const { kept, logger } = options;
  const cache = new LRUCache<string, Entry>({ max: MAX_CACHED });
  const pending = new Map<string, { fetching: Promise<Entry>; countedBy: readonly string[] }>();

  const read = (url: string, text: string): Known => ({
    application: applicationOfDocument(url, JSON.parse(text), options),
    text,
  });

  async function fetchDocument(url: string): Promise<Entry> {
    const response = await options.outbound.fetch(url, { headers: { accept: 'application/json' } });
    if (response.status !== 200) {
      await response.body?.cancel();
      // Redirects are not followed (§4): they could lead to another site's document.
      throw new Error(`its server answered with the status ${response.status}`);
    }
    const known = read(url, await response.text());
    const now = Date.now();
    const freshUntil = now + freshSeconds(response.headers) * 1000;
    return { known, freshUntil, usableUntil: freshUntil + STALE_MS };
  }

  /** The document, or what is wrong with it for a while; one that is known stays in use when it cannot be fetched. */
  async function refresh(url: string, before: Entry | undefined): Promise<Entry> {
    const entry = await fetchDocument(url).catch((error: unknown): Entry => {
      logger.info({ err: error, url }, 'a client ID metadata document could not be used');
      const until = Date.now() + FAILURE_MS;
      const isWrong = error instanceof ServiceError || error instanceof SyntaxError;
      if (!isWrong && before?.known !== undefined && before.usableUntil > Date.now()) {
        return { ...before, freshUntil: until };
      }
      return { error: failureOf(error), freshUntil: until, usableUntil: until };
    });
    cache.set(url, entry);
    // On other replicas, too, it replaces what was known before.
    if (entry.error === undefined && (await options.isAllowed(url))) await keep(url);
    return entry;
  }

  async function keep(url: string): Promise<void> {
    const text = cache.get(url)?.known?.text;
    if (text !== undefined) await kept.save(url, text);
  }

  /** Throws `unavailable` when too many are being fetched for the same address, a network around it, or from the same host. */
  function countedBy(url: string, requester: string): string[] {
    const keys = [`host ${new URL(url).hostname}`, ...addressKeys(requester)];
    const others = [...pending.values()].map((it) => it.countedBy);
    // A network has twice the limit of the one within it, as in createAddressLimiter.
    const isFull = (key: string, i: number) =>
      others.filter((it) => it.includes(key)).length >= MAX_FETCHES_OF_ONE * 2 ** Math.max(i - 1, 0);
    if (others.length >= MAX_FETCHES || keys.some(isFull))
      throw unavailable('Too many clients are being looked up. Try again.');
    return keys;
  }

  function begin(url: string, before: Entry | undefined, countedBy: readonly string[]): Promise<Entry> {
    const fetching = refresh(url, before).finally(() => pending.delete(url));
    pending.set(url, { fetching, countedBy });
    return fetching;
  }

  return {
    keep,
    async find(url, requester) {
      const problem = clientIdProblem(url);
      if (problem !== undefined) throw new ServiceError('invalid', `The client_id ${problem}.`);
      let entry = cache.get(url);
      if (entry === undefined || entry.freshUntil <= Date.now()) {
        if (!pending.has(url)) await options.count(requester);
        entry = await (pending.get(url)?.fetching ?? begin(url, entry, countedBy(url, requester)));
      }
      if (entry.known === undefined) throw entry.error;
      return entry.known.application;
    },
    async known(url) {
      const entry = cache.get(url);
      if (entry?.known !== undefined && entry.freshUntil > Date.now()) return entry.known.application;
      // Another replica may have fetched it since.
      const text = await kept.find(url);
      if (text === undefined) return entry?.known?.application;
      try {
        return read(url, text).application;
      } catch (error) {
        // The rules have changed since.
        if (error instanceof ServiceError) return undefined;
        throw error;
      }
    },
  };
}

/** The error for the developer of the client. It names no address or port: strangers could use it to explore networks. */
function failureOf(error: unknown): ServiceError {
  const begin = 'The client ID metadata document';
  if (error instanceof ServiceError)
    return new ServiceError('invalid', `${begin} is wrong: ${error.message}`);
  if (error instanceof SyntaxError) return new ServiceError('invalid', `${begin} is no JSON.`);
  if (error instanceof BodyTooLargeError)
    return new ServiceError('invalid', `${begin} is longer than ${MAX_DOCUMENT} bytes.`);
  return unavailable(`${begin} could not be fetched.`, undefined, FAILURE_MS / 1000);
}

/** For how long a response may be used (RFC 9111 §5.2.2), within bounds. */
function freshSeconds(headers: Headers): number {
  const control = headers.get('cache-control') ?? '';
  const [, seconds = '0'] = /(?:^|,)\s*max-age=(\d+)/i.exec(control) ?? [];
  const wanted = /(?:^|,)\s*no-(?:store|cache)/i.test(control) ? 0 : Number(seconds);
  return Math.min(Math.max(wanted, MIN_FRESH), MAX_FRESH);
}
