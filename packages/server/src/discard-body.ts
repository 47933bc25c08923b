import type { IncomingMessage } from 'node:http';

const MAX_BYTES = 16 * 1024 * 1024;
const IDLE_TIMEOUT_MS = 500;

/**
 * Reads and discards the rest of a body before the connection is closed: a client or a proxy that is still sending
 * would see a broken connection instead of the response. Gives up after 16 MiB, and when nothing arrives for half a second.
 */
export function discardBody(request: IncomingMessage): Promise<void> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (request.readableEnded || request.destroyed || announced > MAX_BYTES) return Promise.resolve();
  return new Promise((resolve) => {
    let bytesLeft = MAX_BYTES;
    const settle = () => {
      clearTimeout(timer);
      request.off('data', onData).off('end', settle).off('close', settle);
      resolve();
    };
    const timer = setTimeout(settle, IDLE_TIMEOUT_MS);
    const onData = (chunk: Buffer) => {
      bytesLeft -= chunk.length;
      if (bytesLeft < 0) settle();
      else timer.refresh();
    };
    request.on('data', onData).once('end', settle).once('close', settle);
    request.resume();
  });
}
