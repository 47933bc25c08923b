import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { ServiceError } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import type { MetricFamily } from '@gatehouse/core/metrics-text';
import { createPeriodicTask, type PeriodicTask } from '@gatehouse/core/periodic';
import type { Revocation } from '@gatehouse/verify/revocations';
import { concerns } from '../../core/revocations/revocation.ts';
import { OVERLAP_MS, positionAt, type Revocations } from '../../core/revocations/revocations.ts';
import { resourceRevocation } from './resource-revocation.ts';
import type { VerifierDescription } from './verifier.ts';
import type { VerifierConnection, Verifiers } from './verifiers.ts';

const HEARTBEAT_MS = 2000;
/** After this the credential of a listener is verified again: it reconnects. */
const LIFETIME_MS = 300_000;
/** The bytes that a listener may leave unread. */
const MAX_UNREAD = 256 * 1024;
const MAX_STREAMS = 2000;
const MAX_STREAMS_OF_OWNER = 1000;

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  // Nginx collects a response otherwise.
  'x-accel-buffering': 'no',
};

type Stream = {
  response: ServerResponse;
  resource: string;
  owner: string;
  clientId: string;
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
    listener: Pick<Stream, 'resource' | 'owner' | 'clientId'> & {
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
  logger: Logger;
  lifetimeMs?: number;
}): RevocationStreams {
  const { revocations, verifiers, logger, lifetimeMs = LIFETIME_MS } = options;
  const streams = new Set<Stream>();
  /** Up to when revocations have been read, by the database's clock; undefined while nobody listens. */
  let readUntil: Date | undefined;
  /** When those were written that a query reaches back to. */
  const sent = new Map<string, number>();
  let heartbeatAt = 0;

  async function readNew(): Promise<void> {
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
  }

  async function run(): Promise<void> {
    await readNew();
    const now = Date.now();
    if (now - heartbeatAt < HEARTBEAT_MS) return;
    heartbeatAt = now;
    for (const stream of streams) {
      if (stream.state === 'current')
        write(stream, heartbeatOf(stream.position), () => stream.verifier?.caughtUp(now));
      if (now > stream.endsAt) stream.response.end();
    }
  }

  const task = createPeriodicTask({
    run,
    everyMs: () => Math.max(0, heartbeatAt + HEARTBEAT_MS - Date.now()),
    onError: (err) => logger.debug({ err }, 'revocations could not be read for the APIs of others'),
  });

  function add(stream: Stream, description: VerifierDescription | undefined): void {
    requireRoom(streams, stream);
    streams.add(stream);
    if (description !== undefined) stream.verifier = verifiers.connect(stream.resource, description);
    stream.response.on('close', () => {
      stream.verifier?.close();
      streams.delete(stream);
      if (streams.size === 0) readUntil = undefined;
    });
  }

  return {
    ...task,
    async stop() {
      for (const { response } of streams) response.end();
      await task.stop();
    },
    async open(response, { after, description, ...listener }) {
      const endsAt = Date.now() + lifetimeMs * (0.8 + Math.random() / 5);
      const stream: Stream = { ...listener, response, position: '', state: 'loading', endsAt };
      add(stream, description);
      try {
        readUntil ??= (await revocations.lastUpdate('*')) ?? new Date(0);
        response.writeHead(200, HEADERS);
        await load(revocations, stream, after);
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
      for (const { clientId, owner, response } of streams) {
        if ((kind === 'client' && id === clientId) || (kind === 'subject' && id === owner)) response.end();
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

/** Throws `rate_limited` when too many streams are open, of all owners or of this one. */
function requireRoom(streams: ReadonlySet<Stream>, stream: Stream): void {
  const ofOwner = [...streams].filter(({ owner }) => owner === stream.owner).length;
  if (streams.size >= MAX_STREAMS || ofOwner >= MAX_STREAMS_OF_OWNER) {
    throw new ServiceError('rate_limited', 'Too many connections to the feed are open.', {
      headers: { 'retry-after': '30' },
    });
  }
}

function write({ response }: Stream, text: string, onSent?: () => void): void {
  if (response.writableEnded || response.destroyed) return;
  response.write(text, (error) => error ?? onSent?.());
  if (response.writableLength > MAX_UNREAD) response.destroy();
}

/** Sends what was revoked before. The last page is read when new revocations are sent already, so that none is missed. */
async function load(
  revocations: Pick<Revocations, 'list'>,
  stream: Stream,
  after: string | undefined,
): Promise<void> {
  const { response, resource } = stream;
  while (stream.state !== 'current' && !response.destroyed) {
    const page = await revocations.list(stream.position === '' ? after : stream.position, resource);
    const { revocations: entries } = page;
    // After a broken connection the whole page comes again.
    const before = stream.position || after || positionAt(new Date(0));
    const text = entries
      .map((entry, i) => eventOf(i === entries.length - 1 ? page.as_of : before, entry))
      .join('');
    stream.position = page.as_of;
    if (!page.more) stream.state = stream.state === 'loading' ? 'catching up' : 'current';
    if (!response.write(text || ': loading\n\n') && !response.destroyed) {
      await once(response, 'drain', { signal: AbortSignal.timeout(60_000) });
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
