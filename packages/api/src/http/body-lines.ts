import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { ServiceError } from '@gatehouse/core/errors';
import { discardBody } from '@gatehouse/server/discard-body';
import { isBlank, splitLines } from './lines.ts';
import { checkAgain } from './request-body.ts';

/** Lines of JSON (https://github.com/ndjson/ndjson-spec). */
export const NDJSON = 'application/x-ndjson';

/** A line that has been read, or a problem of it. With `isLast`, nothing from this line on is read. */
export type BodyLine = { number: number } & ({ bytes: Buffer } | { problem: ServiceError; isLast: boolean });

export type LineLimits = {
  lines: number;
  /** The size of a line, without its end. */
  bytes: number;
  /** How long it may take until all lines have been read. */
  seconds: number;
};

/**
 * Reads the lines of a request's body one by one, no faster than they are taken. Lines without a character are skipped, but
 * counted. The checks of checkAfterBody() run before each line. Ends without a problem when the client goes
 * away. The rest of a body that is not read to its end is discarded (see discardBody).
 */
export async function* readLines(request: IncomingMessage, limits: LineLimits): AsyncGenerator<BodyLine> {
  // Destroyed instead of the request, whose connection is needed for the response.
  const body = new PassThrough();
  const onClose = () => void (request.readableEnded || body.destroy());
  const timer = setTimeout(
    () => body.destroy(new ServiceError('timeout', `The lines were not read within ${limits.seconds} s.`)),
    limits.seconds * 1000,
  );
  let number = 0;
  try {
    request.on('close', onClose).pipe(body);
    if (request.destroyed) onClose();
    for await (const bytes of splitLines(body, limits.bytes)) {
      number += 1;
      if (number > limits.lines) {
        throw new ServiceError('too_large', `A body has at most ${limits.lines} lines.`);
      }
      if (bytes !== undefined && isBlank(bytes)) continue;
      await checkAgain(request);
      const problem = new ServiceError('too_large', `The line is larger than ${limits.bytes} bytes.`);
      yield bytes === undefined ? { number, problem, isLast: false } : { number, bytes };
    }
  } catch (error) {
    if (request.destroyed) return;
    if (!(error instanceof ServiceError)) throw error;
    if (error.kind === 'timeout') number += 1;
    yield { number, problem: error, isLast: true };
  } finally {
    clearTimeout(timer);
    request.off('close', onClose).unpipe(body);
    body.destroy();
    await discardBody(request);
  }
}
