import type { ServerResponse } from 'node:http';
import { ServiceError } from '@gatehouse/core/errors';
import { isId } from '@gatehouse/core/ids';
import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask, type PeriodicTask } from '@gatehouse/core/periodic';
import { requestInfo } from '@gatehouse/server/requests';
import type { Caller } from '@gatehouse/tokens/caller';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { checkAgain } from '../http/request-body.ts';
import { STREAMED_ROWS } from '../lists/list-endpoint.ts';

const POLL_MS = 500;
const HEARTBEAT_MS = 10_000;
/** A client that has not read what was written to it for this long has gone. */
const MAX_UNREAD_MS = 30_000;
const MAX_STREAMS = 1000;
const MAX_STREAMS_OF_OWNER = 20;

type Stream<T> = {
  response: ServerResponse;
  /** The person, or the application that acts in its own right. */
  owner: string;
  /** The id of the last row that was sent. */
  position: string;
  writtenAt: number;
  isReading: boolean;
  /** Throws once the credential is no longer valid. */
  recheck(): Promise<void>;
  /** The next rows, at most STREAMED_ROWS. */
  rowsAfter(id: string): Promise<readonly T[]>;
};

/** A list as Server-Sent Events (HTML standard, section 9.2). */
export type ListStreams<T> = PeriodicTask & {
  /** Sends the rows after the one of `Last-Event-ID`, or those from now on. Throws `invalid` and `rate_limited`. */
  open(
    request: FastifyRequest,
    reply: FastifyReply,
    from: { caller: Caller } & Pick<Stream<T>, 'rowsAfter'>,
  ): Promise<void>;
};

/**
 * Streams of a list whose ids are in the order of their creation. A process reads the latest id for all its streams, and a stream reads the
 * list when there is a later one. A stream ends with the credential with which it was opened, or when its client reads too slowly.
 *
 * @param options.latestId the highest id that can be listed, and below which no row is added any more
 */
export function createListStreams<T extends { id: string }>(options: {
  idPrefix: string;
  latestId(): Promise<string>;
  eventOf(row: T): { type: string; data: unknown };
  logger: Logger;
  maxUnreadMs?: number;
}): ListStreams<T> {
  const { idPrefix, latestId, eventOf, logger, maxUnreadMs = MAX_UNREAD_MS } = options;
  const streams = new Set<Stream<T>>();

  async function advance(stream: Stream<T>, latest: string): Promise<void> {
    await stream.recheck();
    const { response } = stream;
    if (response.writableNeedDrain) {
      if (performance.now() - stream.writtenAt > maxUnreadMs) response.destroy();
      return;
    }
    while (stream.position < latest) {
      const rows = await stream.rowsAfter(stream.position);
      if (response.writableEnded) return;
      for (const row of rows) {
        const { type, data } = eventOf(row);
        write(stream, `id: ${row.id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
      }
      const last = rows.at(-1)?.id ?? '';
      // The list may have rows by now that are later than `latest`.
      stream.position = rows.length < STREAMED_ROWS && last < latest ? latest : last;
      // The rest follows once the client has read this.
      if (response.writableNeedDrain) return;
    }
    if (performance.now() - stream.writtenAt > HEARTBEAT_MS) write(stream, ': heartbeat\n\n');
  }

  async function run(): Promise<void> {
    if (streams.size === 0) return;
    const latest = await latestId();
    for (const stream of [...streams].filter(({ isReading }) => !isReading)) {
      stream.isReading = true;
      advance(stream, latest)
        .catch((error: unknown) => {
          if (!(error instanceof ServiceError)) logger.warn({ err: error }, 'a stream was broken off');
          stream.response.end();
        })
        .finally(() => {
          stream.isReading = false;
        });
    }
  }
  const task = createPeriodicTask({
    run,
    everyMs: POLL_MS,
    onError: (err) => logger.warn({ err }, 'streams could not be continued'),
  });

  return {
    ...task,
    async stop() {
      for (const { response } of streams) response.end();
      await task.stop();
    },
    async open(request, reply, { caller: { clientId, person }, rowsAfter }) {
      const after = request.headers['last-event-id'];
      if (after !== undefined && !isId(idPrefix, String(after)))
        throw new ServiceError('invalid', 'Last-Event-ID is not the id of an event of this stream.');
      const position = after === undefined ? await latestId() : String(after);
      const owner = person?.id ?? clientId;
      const own = [...streams].filter((stream) => stream.owner === owner).length;
      if (own >= MAX_STREAMS_OF_OWNER || streams.size >= MAX_STREAMS)
        throw new ServiceError('rate_limited', 'Too many streams are open.', {
          headers: { 'retry-after': '30' },
        });
      requestInfo(request.raw).streamingSince = performance.now();
      reply.hijack();
      const response = reply.raw;
      const stream: Stream<T> = {
        ...{ response, owner, rowsAfter, position, isReading: false, writtenAt: 0 },
        recheck: () => checkAgain(request.raw),
      };
      streams.add(stream);
      // A write after the end is an error, which would end the process.
      response.on('error', () => {});
      response.on('close', () => streams.delete(stream));
      response.writeHead(200, {
        ...(reply.getHeaders() as Record<string, string>),
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        // Nginx collects a response otherwise.
        'x-accel-buffering': 'no',
      });
      write(stream, ': open\n\n');
    },
  };
}

function write(stream: Pick<Stream<never>, 'response' | 'writtenAt'>, text: string): void {
  stream.response.write(text);
  stream.writtenAt = performance.now();
}
