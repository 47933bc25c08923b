import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { ServiceError } from '@gatehouse/core/errors';
import { createKeyedSemaphore } from '@gatehouse/core/keyed-semaphore';
import type { Logger } from '@gatehouse/core/logger';
import type { MetricFamily } from '@gatehouse/core/metrics-text';
import { createPeriodicTask, type PeriodicTask } from '@gatehouse/core/periodic';
import type { Revocation } from '@gatehouse/verify/revocations';
import { concerns } from '../../core/revocations/revocation.ts';
import {
  normalPosition,
  OVERLAP_MS,
  positionAt,
  type Revocations,
} from '../../core/revocations/revocations.ts';
import type { ResourceStore } from './registered-resource.ts';
import { resourceRevocation } from './resource-revocation.ts';
import type { ResourceServer } from './resource-server.ts';
import type { VerifierDescription } from './verifier.ts';
import type { VerifierConnection, Verifiers } from './verifiers.ts';

const HEARTBEAT_MS = 2000;
/** After this the credential of a listener is verified again: it reconnects. */
const LIFETIME_MS = 300_000;
/** The bytes that a listener may leave unread. */
const MAX_UNREAD = 256 * 1024;
const MAX_STREAMS = 2000;
const MAX_STREAMS_OF_OWNER = 500;
/** Of an owner; the others wait, so that many streams that begin at once delay nobody else. */
const LOADING_STREAMS = 2;
const MAX_LOADING_WAIT_MS = 60_000;
const DRAIN_MS = 10_000;
/** Keeps a connection open, and is no heartbeat. */
const LOADING = ': loading\n\n';

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  // Nginx collects a response otherwise.
  'x-accel-buffering': 'no',
};

type Stream = {
  response: ServerResponse;
  resource: string;
  server: ResourceServer;
  verifier?: VerifierConnection;
  position: string;
  /** `current` once it has been sent everything that was revoked before, and since then each revocation. */
  state: 'loading' | 'catching up' | 'current';
  endsAt: number;
};

export type RevocationStreams = PeriodicTask & {
  /** Sends the revocations that concern a resource, after a position, as Server-Sent Events. Throws `rate_limited`. */
  open(
    response: ServerResponse,
    listener: Pick<Stream, 'resource' | 'server'> & {
      after: string | undefined;
      description: VerifierDescription | undefined;
    },
  ): Promise<void>;
  /** To be called for each revocation by any replica. */
  hear(revocation: Revocation): void;
  metrics(): MetricFamily[];
};

/**
 * Streams of revocations to the APIs of others. All streams of a process share one reading of the database, which a broadcast wakes. A
 * heartbeat says that everything up to now has been sent, so it follows a successful reading only.
 */
export function createRevocationStreams(options: {
  revocations: Pick<Revocations, 'list' | 'concerningResources' | 'lastUpdate'>;
  verifiers: Pick<Verifiers, 'connect'>;
  store: Pick<ResourceStore, 'ownersOf'>;
  logger: Logger;
  lifetimeMs?: number;
  /** Of all owners. */
  maxStreams?: number;
}): RevocationStreams {
  const { revocations, verifiers, store, logger, lifetimeMs = LIFETIME_MS } = options;
  const { maxStreams = MAX_STREAMS } = options;
  const streams = new Set<Stream>();
  const load = createLoading(revocations);
  const following = createFollowing(revocations, streams);
  let heartbeatAt = 0;

  async function run(): Promise<void> {
    await following.sendNew();
    const now = Date.now();
    if (now - heartbeatAt < HEARTBEAT_MS) return;
    heartbeatAt = now;
    const ids = [...new Set([...streams].map(({ resource }) => resource))];
    const owners = ids.length === 0 ? new Map<string, string>() : await store.ownersOf(ids);
    for (const stream of streams) {
      const { resource, server, response, state, position, endsAt } = stream;
      if (now > endsAt || owners.get(resource) !== server.owner) response.end();
      else if (state === 'current')
        write(stream, heartbeatOf(position), () => stream.verifier?.caughtUp(now));
      else write(stream, LOADING);
    }
  }

  const task = createPeriodicTask({
    run,
    everyMs: () => Math.max(0, heartbeatAt + HEARTBEAT_MS - Date.now()),
    onError: (err) => logger.debug({ err }, 'revocations could not be read for the APIs of others'),
  });

  function add(stream: Stream, description: VerifierDescription | undefined): void {
    makeRoom(streams, stream.server, maxStreams);
    streams.add(stream);
    // A write after the end is an error, which would end the process.
    stream.response.on('error', () => {});
    if (description !== undefined) stream.verifier = verifiers.connect(stream.resource, description);
    stream.response.on('close', () => {
      stream.verifier?.close();
      streams.delete(stream);
      if (streams.size === 0) following.end();
    });
  }

  return {
    ...task,
    async stop() {
      for (const { response } of streams) response.end();
      await task.stop();
    },
    async open(response, { after, description, ...listener }) {
      const lifetimeEnd = Date.now() + lifetimeMs * (0.8 + Math.random() / 5);
      const { token } = listener.server;
      const endsAt = Math.min(lifetimeEnd, (token?.expiresAt ?? Number.POSITIVE_INFINITY) * 1000);
      const stream: Stream = { ...listener, response, position: '', state: 'loading', endsAt };
      add(stream, description);
      try {
        await following.begin();
        response.writeHead(200, HEADERS);
        write(stream, LOADING);
        await load(stream, after);
      } catch (error) {
        if (!response.headersSent) {
          streams.delete(stream);
          throw error;
        }
        logger.debug({ err: error }, 'a stream of revocations was broken off');
        response.destroy();
      }
    },
    hear({ kind, id }) {
      if (streams.size === 0) return;
      task.wake();
      for (const { server, response } of streams) {
        const { clientId: client, owner: subject, token } = server;
        if (({ client, subject, token: token?.id } as Record<string, unknown>)[kind] === id) response.end();
      }
    },
    metrics: () => [
      {
        name: 'gatehouse_revocation_streams',
        help: 'The connections of the APIs of others to the revocation feed.',
        type: 'gauge',
        samples: [{ value: streams.size }],
      },
    ],
  };
}

/** Returns functions that send to the streams what any replica revokes, from the first stream to the last. */
function createFollowing(
  revocations: Pick<Revocations, 'concerningResources' | 'lastUpdate'>,
  streams: ReadonlySet<Stream>,
) {
  /** Up to when revocations have been read, by the database's clock; undefined while nobody listens. */
  let readUntil: Date | undefined;
  /** When those were written that a query reaches back to. */
  const sent = new Map<string, number>();

  return {
    async begin(): Promise<void> {
      readUntil ??= (await revocations.lastUpdate('*')) ?? new Date(0);
    },
    end(): void {
      readUntil = undefined;
    },
    async sendNew(): Promise<void> {
      if (streams.size === 0 || readUntil === undefined) return;
      const from = readUntil.getTime() - OVERLAP_MS;
      for (const [key, at] of sent) if (at < from) sent.delete(key);
      for await (const entry of revocations.concerningResources(new Date(from))) {
        const { kind, id, updatedAt } = entry;
        const key = `${kind} ${id} ${updatedAt.getTime()}`;
        if (sent.has(key)) continue;
        sent.set(key, updatedAt.getTime());
        readUntil = updatedAt;
        const position = positionAt(updatedAt);
        const text = eventOf(position, entry);
        for (const stream of streams) {
          if (!concerns(entry, stream.resource) || stream.state === 'loading') continue;
          if (stream.state === 'current') stream.position = position;
          write(stream, text, () => stream.verifier?.sent(id));
        }
      }
    },
  };
}

/**
 * Throws `rate_limited` when an owner has too many streams. When all owners together have too many, ends one of the owner who has most, unless
 * that is this one.
 */
function makeRoom(streams: ReadonlySet<Stream>, { owner }: ResourceServer, maxStreams: number): void {
  const byOwner = Map.groupBy(streams, (stream) => stream.server.owner);
  const own = byOwner.get(owner)?.length ?? 0;
  const [largest = []] = [...byOwner.values()].sort((a, b) => b.length - a.length);
  const isFull = streams.size >= maxStreams;
  if (own >= MAX_STREAMS_OF_OWNER || (isFull && own >= largest.length)) {
    throw new ServiceError('rate_limited', 'Too many connections to the feed are open.', {
      headers: { 'retry-after': '30' },
    });
  }
  if (isFull) largest[0]?.response.destroy();
}

function write({ response }: Stream, text: string, onSent?: () => void): void {
  if (response.writableEnded || response.destroyed) return;
  response.write(text, (error) => error ?? onSent?.());
  if (response.writableLength > MAX_UNREAD) response.destroy();
}

/** Returns a function that sends a stream what was revoked before, a few streams of an owner at a time. */
function createLoading(
  revocations: Pick<Revocations, 'list'>,
): (stream: Stream, after: string | undefined) => Promise<void> {
  const turns = createKeyedSemaphore({ permits: LOADING_STREAMS, maxWaiting: MAX_STREAMS });
  return async (stream, after) => {
    const { response, server } = stream;
    if (!(await turns.acquire(server.owner, MAX_LOADING_WAIT_MS))) return void response.end();
    try {
      await sendEarlier(revocations, stream, after);
    } finally {
      turns.release(server.owner);
    }
  };
}

/** Sends what was revoked before. The last page is read when new revocations are sent already, so that none is missed. */
async function sendEarlier(
  revocations: Pick<Revocations, 'list'>,
  stream: Stream,
  after: string | undefined,
): Promise<void> {
  const { response, resource } = stream;
  while (stream.state !== 'current' && !response.writableEnded && !response.destroyed) {
    const page = await revocations.list(stream.position === '' ? after : stream.position, resource);
    const { revocations: entries } = page;
    // After a broken connection the whole page comes again.
    const before = stream.position || normalPosition(after);
    const text = entries
      .map((entry, i) => eventOf(i === entries.length - 1 ? page.as_of : before, entry))
      .join('');
    stream.position = page.as_of;
    if (!page.more) stream.state = stream.state === 'loading' ? 'catching up' : 'current';
    if (!response.write(text || LOADING) && !response.destroyed) {
      await once(response, 'drain', { signal: AbortSignal.timeout(DRAIN_MS) });
    }
  }
  write(stream, heartbeatOf(stream.position));
}

/** An event of the HTML standard, section 9.2. */
function eventOf(position: string, entry: Parameters<typeof resourceRevocation>[0]): string {
  return `id: ${position}\ndata: ${JSON.stringify(resourceRevocation(entry))}\n\n`;
}

/** Moves the position of a listener without an event. */
function heartbeatOf(position: string): string {
  return `: heartbeat\nid: ${position}\n\n`;
}
