import type { IncomingMessage } from 'node:http';
import { ServiceError } from '@gatehouse/core/errors';
import { discardBody } from '@gatehouse/server/discard-body';
import { callerKey } from '@gatehouse/server/requests';

/** How long a body may take to arrive, in seconds: 256 KiB at 9 KB/s. */
export const BODY_SECONDS = 30;

/** How many chunks are kept before they become one: a chunk of one byte takes some 400 bytes of memory. */
export const MAX_CHUNKS = 1000;

/**
 * How many bytes of a caller's incomplete bodies a process keeps, however many bodies there are. Smaller bodies are not counted: most
 * arrive at once.
 */
const ARRIVING = { ofCaller: 32e6, countedFrom: 16 * 1024 };

/** Ends the connection after the response: the rest of the body must not be taken for the next request. */
const CLOSE = { connection: 'close' };

/** A property, as for RequestInfo. */
const CHECK = Symbol('check after the body');
type Checked = IncomingMessage & { [CHECK]?: () => Promise<void> };

/**
 * Makes readBody() run a check once the body is there, readLines() before each line, and a stream while it lasts. An earlier check may no
 * longer hold then, since the client decides how long these take.
 */
export function checkAfterBody(request: Checked, check: () => Promise<void>): void {
  request[CHECK] = check;
}

/** Runs the check, if there is one; throws what it throws. */
export async function checkAgain(request: Checked): Promise<void> {
  await request[CHECK]?.();
}

/**
 * Reads a request's body of at most `limit` bytes. Throws `unsupported_media_type` for one that is encoded, `too_large`,
 * `timeout` when it has not arrived after `seconds`, `rate_limited` when too many large bodies of the caller are arriving,
 * `invalid` when the client gives up, and what checkAfterBody() asked to check.
 */
export async function readBody(
  request: Checked,
  limit: number,
  seconds: number = BODY_SECONDS,
): Promise<Buffer> {
  refuseEncoded(request);
  const body = await collect(request, limit, seconds);
  if (body === undefined) {
    await discardBody(request);
    throw new ServiceError('too_large', `The body is larger than ${limit} bytes.`, { headers: CLOSE });
  }
  await checkAgain(request);
  return body;
}

/** Throws `unsupported_media_type` for a body that is compressed: its size is known only when it is decompressed. */
export function refuseEncoded({ headers }: IncomingMessage): void {
  if (/^(?:identity)?$/i.test(headers['content-encoding']?.trim() ?? '')) return;
  // RFC 9110 §12.5.3
  throw new ServiceError('unsupported_media_type', 'The body must be sent without a Content-Encoding.', {
    headers: { 'accept-encoding': 'identity' },
  });
}

/** The bytes of a request; undefined when they are more than `limit`. */
function collect(request: IncomingMessage, limit: number, seconds: number): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > limit) return Promise.resolve(undefined);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | undefined>();
  const arriving = arrivingBody(request);
  let chunks: Buffer[] = [];
  let size = 0;
  const onData = (chunk: Buffer) => {
    size += chunk.length;
    if (size > limit) resolve(undefined);
    else if (!arriving.grow(size)) {
      const message = 'Too many large requests of yours are being sent: try again in 1 s.';
      reject(new ServiceError('rate_limited', message, { headers: { ...CLOSE, 'retry-after': '1' } }));
    } else if (chunks.push(chunk) === MAX_CHUNKS) chunks = [Buffer.concat(chunks)];
  };
  const onClose = () => {
    if (!request.readableEnded) reject(new ServiceError('invalid', 'The body could not be read.'));
  };
  const timer = setTimeout(() => {
    // RFC 9110 §15.5.9
    reject(new ServiceError('timeout', `The body did not arrive within ${seconds} s.`, { headers: CLOSE }));
  }, seconds * 1000);
  request
    .on('data', onData)
    .on('end', () => resolve(Buffer.concat(chunks)))
    .on('error', onClose)
    .on('close', onClose);
  // The client may have gone while its credential was being verified.
  if (request.destroyed) onClose();
  return promise.finally(() => {
    clearTimeout(timer);
    request.off('data', onData);
    arriving.end();
  });
}

/** By caller, the bytes that have arrived of large bodies that are not complete. */
const arrivingOf = new Map<string, number>();

/** Counts a body while it arrives. `grow` says whether the caller may send so much of it. */
function arrivingBody(request: IncomingMessage) {
  const caller = callerKey(request);
  let counted = 0;
  function count(size: number): number {
    const sum = (arrivingOf.get(caller) ?? 0) + size - counted;
    counted = size;
    if (sum === 0) arrivingOf.delete(caller);
    else arrivingOf.set(caller, sum);
    return sum;
  }
  return {
    grow: (size: number) => size < ARRIVING.countedFrom || count(size) <= ARRIVING.ofCaller,
    end: () => void (counted > 0 && count(0)),
  };
}
