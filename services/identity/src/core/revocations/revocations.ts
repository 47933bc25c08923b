import { hash, randomUUID } from 'node:crypto';
import { unavailable } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import type { Broadcast } from '@gatehouse/events/broadcast';
import { REVOCATIONS_SUBJECT } from '@gatehouse/tokens/revocation-feed';
import type { Revocation } from '@gatehouse/verify/revocations';
import type { DerivedToken, DerivedTokenStore, Support } from './derived-token-store.ts';
import type { ResourceToken, ResourceTokenStore } from './resource-token-store.ts';
import { EVERY_RESOURCE } from './revocation.ts';
import type { RevocationStore, StoredRevocation } from './revocation-store.ts';

/** How often listeners hear that all is well, and how soon a missed announcement is repeated. */
const HEARTBEAT_MS = 2000;
const REPEAT_MS = 1000;
/** How often it is looked for announcements that were missed, when this process has made them all. */
const LOOK_MS = 60_000;
/** How far a listener's query reaches back beyond what it has seen, as writes of other replicas may overtake. */
export const OVERLAP_MS = 5000;
const PAGE = 5000;
/** Less than a stream may leave unread. */
const RESOURCE_PAGE = 1000;
/** How often it is noted until when the tokens that are being issued can be used. */
const ISSUING_MS = 30_000;
/** Longer than verifiers keep our public keys. */
const KEY_CACHE_SECONDS = 900;

/** A new revocation; its expiry follows from when it is written. `resource`: the id of the resource of others that a token is for. */
export type RevocationEntry = Omit<Revocation, 'expiresAt'> & { resource?: string | undefined };

/** A credential that is about to be issued. */
export type NewCredential = ResourceToken & { epoch: { client: number; subject?: number } };

export type RevocationPage = { revocations: Revocation[]; as_of: string; more: boolean };

export type Revocations = {
  /** Revokes credentials until the last one issued before now has expired. Durable when it resolves. */
  write(entries: readonly RevocationEntry[]): Promise<void>;
  /**
   * The revocations after `since`; without `since`, all that are in force. When there
   * is more than a page of it, `more` is true, and `as_of` leads to the next one. With the id of a resource of others, those that concern
   * it, without repetitions.
   */
  list(since: string | undefined, resource?: string): Promise<RevocationPage>;
  /** Those that concern resources of others, with the ids of these, written from a time on; the earliest first. */
  concerningResources(from: Date): AsyncIterable<StoredRevocation>;
  /** The last ones that concern a resource of others, the latest first. */
  recent: RevocationStore['recent'];
  /** When one was written last, by the database’s clock; with `*`, one that concerns a resource of others. */
  lastUpdate: RevocationStore['lastUpdate'];
  /**
   * To be called before a credential for a resource of others is given away, which that resource will then hear of. Throws `unavailable`
   * when the credential has been revoked meanwhile.
   */
  noteIssued(credential: NewCredential, expiresAt: Date): Promise<void>;
  /**
   * To be called before a token that was issued for another credential is given away: it is then revoked when something that it rests on
   * is. Throws `unavailable` when that has happened meanwhile.
   */
  noteDerived(token: DerivedToken, expiresAt: Date): Promise<void>;
  /** Must have resolved before the first token is issued. */
  start(): Promise<void>;
  stop(): Promise<void>;
};

/**
 * The source of the revocation feed: a revocation is stored first, then announced. When the announcement fails,
 * because the broadcast is away or the process dies, this or another replica repeats it.
 *
 * A revocation lasts until every token that exists has expired. How long tokens live is a setting, which may have been
 * longer when they were issued, or be longer at another replica: each notes in the database until when what it issues can
 * be used, and that note outlives it.
 *
 * @param options.pageSize how many revocations list() returns at a time
 * @param options.tokenLifetime how long a credential issued now can be used, in seconds, clock skew included
 */
export function createRevocations(options: {
  store: RevocationStore;
  resourceTokens: Stores['resourceTokens'];
  derivedTokens: DerivedTokenStore;
  broadcast: Broadcast;
  tokenLifetime: number;
  /** Whether no other process writes revocations; by default some do. */
  isOnlyWriter?: boolean;
  pageSize?: number;
  logger: Logger;
}): Revocations {
  const {
    store,
    resourceTokens,
    derivedTokens,
    broadcast,
    tokenLifetime,
    isOnlyWriter = false,
    pageSize = PAGE,
    logger,
  } = options;
  const from = randomUUID();
  let count = 0;
  /** Whether this process may have written what is not announced. */
  let isPending = true;
  let lookedAt = Number.NEGATIVE_INFINITY;

  function send(message: { revocation?: Revocation; ended?: true } = {}): Promise<void> {
    count += 1;
    return broadcast.publish(REVOCATIONS_SUBJECT, { from, n: count, ...message });
  }

  async function announce(entry: StoredRevocation): Promise<void> {
    try {
      await noteResources(options, entry);
      await send({ revocation: revocationOf(entry) });
      await endDerived(derivedTokens, entry, write);
      await store.announced(entry);
    } catch (error) {
      logger.debug({ err: error }, 'a revocation could not be announced yet');
    }
  }

  /** Announces what was written and not announced, by this process or another one. */
  async function repeat(): Promise<void> {
    if (isOnlyWriter && !isPending && performance.now() - lookedAt < LOOK_MS) return;
    isPending = false;
    const entries = await store.pending().catch((error: unknown) => {
      isPending = true;
      throw error;
    });
    lookedAt = performance.now();
    if (entries.length > 0) isPending = true;
    for (const entry of entries) await announce(entry);
  }

  const onError = (error: unknown) => logger.debug({ err: error }, 'the revocation feed could not be served');
  const issuing = () => store.issuingUntil(new Date(Date.now() + tokenLifetime * 1000 + 2 * ISSUING_MS));
  const repeating = createPeriodicTask({ run: repeat, everyMs: REPEAT_MS, onError });
  // Those who listen may have had a connection again before.
  const unsubscribe = broadcast.onReconnect(repeating.wake);
  const tasks = [
    repeating,
    createPeriodicTask({ run: issuing, everyMs: ISSUING_MS, onError }),
    createPeriodicTask({ run: () => send(), everyMs: HEARTBEAT_MS, onError }),
  ];

  /** Tells listeners not to wait for this process, unless it has something left to announce, which they then fetch. */
  async function end(): Promise<void> {
    // The second time shows whether the first has announced everything.
    for (let i = 0; i < 2 && isPending; i += 1) await repeat();
    if (!isPending) await send({ ended: true });
  }

  async function put(
    { kind, id, epoch, resource }: RevocationEntry,
    lastExpiry: Date | undefined,
  ): Promise<StoredRevocation> {
    const expiresAt = expiryOf(kind, tokenLifetime, lastExpiry);
    // Somebody who has a withdrawn signing key can sign tokens for any resource.
    const concerned = kind === 'key' ? EVERY_RESOURCE : resource;
    const resources = concerned === undefined ? undefined : [concerned];
    // Also when it fails, since it may be stored all the same.
    const written = await store.put({ kind, id, epoch, expiresAt, resources }).finally(() => {
      isPending = true;
    });
    // Not awaited: it is stored, and a failed announcement is repeated.
    void announce(written);
    return written;
  }

  async function write(entries: readonly RevocationEntry[]): Promise<void> {
    const lastExpiry = await store.lastExpiry();
    await Promise.all(entries.map((entry) => put(entry, lastExpiry)));
  }

  return {
    write,
    ...createReading({ store, resourceTokens, derivedTokens, pageSize }),
    async start() {
      await issuing();
      for (const task of tasks) task.start();
    },
    async stop() {
      unsubscribe();
      await Promise.all(tasks.map((task) => task.stop()));
      await end().catch(onError);
    },
  };
}

function expiryOf(kind: Revocation['kind'], tokenLifetime: number, lastExpiry: Date | undefined): Date {
  // A verifier may use a key for as long as it keeps it, whatever the lifetime of tokens.
  const seconds = kind === 'key' ? Math.max(tokenLifetime, KEY_CACHE_SECONDS) : tokenLifetime;
  return new Date(Math.max(Date.now() + seconds * 1000, lastExpiry?.getTime() ?? 0));
}

type Stores = { store: RevocationStore; resourceTokens: Pick<ResourceTokenStore, 'note' | 'resourcesOf'> };

/**
 * Only after the revocation is stored: noteIssued() finds it then, or its credential is found here. The resources of a token or a
 * signing key are stored with its revocation.
 */
async function noteResources({ store, resourceTokens }: Stores, entry: StoredRevocation): Promise<void> {
  const { kind, id, resources = [] } = entry;
  if (kind === 'token' || kind === 'key') return;
  const found = await resourceTokens.resourcesOf(kind, id);
  if (found.length > 0 || resources.length > 0) await store.noteResources(entry, found);
}

/** After the revocation is stored: noteDerived() finds it then, or its token is found here. What rests on these ends by their own. */
async function endDerived(
  derivedTokens: DerivedTokenStore,
  entry: StoredRevocation,
  write: Revocations['write'],
): Promise<void> {
  for (;;) {
    const ended = await derivedTokens.endedBy(revocationOf(entry));
    if (ended.length === 0) return;
    await write(ended.map(({ tokenId: id, resource }) => ({ kind: 'token', id, resource })));
    await derivedTokens.remove(ended.map(({ tokenId }) => tokenId));
  }
}

/** Reads the revocations by pages, and finds those of a credential that is about to be issued. */
function createReading({
  store,
  resourceTokens,
  derivedTokens,
  pageSize,
}: Stores & { derivedTokens: DerivedTokenStore; pageSize: number }): Pick<
  Revocations,
  'list' | 'lastUpdate' | 'recent' | 'concerningResources' | 'noteIssued' | 'noteDerived'
> {
  return {
    async list(since, resource) {
      const { known, after, seen } = readPosition(since);
      const limit = resource === undefined ? pageSize : Math.min(pageSize, RESOURCE_PAGE);
      // Before the first page, since those of other replicas may be written while the later pages are read.
      const asOf = after === undefined ? ((await store.lastUpdate(resource)) ?? known) : known;
      const entries = await store.page({
        ...(after === undefined && known !== undefined
          ? { from: new Date(known.getTime() - OVERLAP_MS) }
          : omitUndefined({ after })),
        ...omitUndefined({ resource }),
        limit,
      });
      const isLast = entries.length < limit;
      const position = { known: asOf, after: isLast ? undefined : entries.at(-1) };
      return {
        revocations: (seen.length === 0 ? entries : entries.filter((it) => !seen.includes(markOf(it)))).map(
          revocationOf,
        ),
        as_of: writePosition({
          ...position,
          seen: resource === undefined ? [] : recentMarks(entries, seen, asOf),
        }),
        more: !isLast,
      };
    },
    recent: store.recent,
    lastUpdate: store.lastUpdate,
    async *concerningResources(from) {
      let after: StoredRevocation | undefined;
      do {
        const page = await store.page({ from, ...omitUndefined({ after }), resource: '*', limit: pageSize });
        yield* page;
        after = page.length < pageSize ? undefined : page.at(-1);
      } while (after !== undefined);
    },
    async noteDerived(token, expiresAt) {
      await derivedTokens.insert(token, expiresAt);
      await requireUnrevoked(store, token.restsOn);
    },
    async noteIssued({ epoch, ...token }, expiresAt) {
      await resourceTokens.note(token, expiresAt);
      const { clientId: client, subject, grantId: grant, apiKeyId: api_key } = token;
      const ids = Object.entries(omitUndefined({ client, subject, grant, api_key }));
      const own: Record<string, number | undefined> = epoch;
      await requireUnrevoked(
        store,
        ids.map(([kind, id]) => ({ kind, id, epoch: own[kind] })),
      );
    },
  };
}

/** Throws `unavailable` if one of these was revoked with a higher epoch. */
async function requireUnrevoked(
  { find }: Pick<RevocationStore, 'find'>,
  restsOn: readonly Support[],
): Promise<void> {
  const isRevoked = (await find(restsOn)).some(({ kind, id, epoch = Number.POSITIVE_INFINITY }) =>
    restsOn.some((it) => it.kind === kind && it.id === id && epoch > (it.epoch ?? 0)),
  );
  if (isRevoked) throw unavailable('The permissions behind the token have just changed: try again.');
}

function revocationOf({ kind, id, epoch, expiresAt }: StoredRevocation): Revocation {
  return {
    kind: kind as Revocation['kind'],
    id,
    ...(epoch === undefined ? {} : { epoch }),
    expiresAt: Math.ceil(expiresAt.getTime() / 1000),
  };
}

/**
 * How far a listener has got: it has seen everything up to `known`, and since then the pages up to `after`. `seen`: the marks of what it has
 * seen of the time that a query reaches back.
 */
type FeedPosition = {
  known: Date | undefined;
  after: Pick<StoredRevocation, 'kind' | 'id' | 'updatedAt'> | undefined;
  seen: readonly string[];
};

/** More would make a position too long for a URL. What is not marked comes again. */
const MAX_MARKS = 100;

/** Tells this write of a revocation from others. */
function markOf({ kind, id, updatedAt }: StoredRevocation): string {
  return hash('sha256', `${kind} ${id} ${updatedAt.getTime()}`, 'base64url').slice(0, 8);
}

function recentMarks(
  entries: readonly StoredRevocation[],
  seen: readonly string[],
  asOf: Date | undefined,
): string[] {
  const from = (asOf?.getTime() ?? 0) - OVERLAP_MS;
  const recent = entries.filter(({ updatedAt }) => updatedAt.getTime() >= from).map(markOf);
  return [...new Set([...recent, ...seen])].slice(0, MAX_MARKS);
}

/** The position after everything that was written up to a time. */
export function positionAt(time: Date): string {
  return writePosition({ known: time, after: undefined, seen: [] });
}

/** A position from outside in its normal form, which is safe to send back. */
export function normalPosition(text: string | undefined): string {
  return writePosition(readPosition(text));
}

/** As text, which listeners pass back as it is. */
function writePosition({ known, after, seen }: FeedPosition): string {
  const time = (known ?? new Date(0)).toISOString();
  const place = after === undefined ? [] : [after.updatedAt.toISOString(), after.kind, after.id];
  return [[time, ...seen].join('~'), ...place].join(' ');
}

/** One that cannot be read means the beginning. */
function readPosition(text = ''): FeedPosition {
  const [first = '', last, kind = '', ...id] = text.split(' ');
  const [time = '', ...seen] = first.split('~');
  const [known, updatedAt] = [new Date(time), new Date(last ?? 0)];
  if ([known, updatedAt].some((date) => Number.isNaN(date.getTime()))) {
    return { known: undefined, after: undefined, seen: [] };
  }
  return { known, after: last === undefined ? undefined : { updatedAt, kind, id: id.join(' ') }, seen };
}
