import type { IncomingMessage } from 'node:http';

/** In bytes: more than a client sends by mistake, and little enough to read for nothing. */
const LIMIT = 16 * 1024 * 1024;
/** How long to wait for more, in milliseconds. */
const PATIENCE = 500;

/**
 * Reads the rest of a body that nobody wants, before the answer and the end of the connection: to hang up on a
 * client, or a proxy, that is still sending makes it see a broken connection and not the answer. Gives up after
 * 16 MiB, and when nothing comes for half a second.
 */
export function discardBody(request: IncomingMessage): Promise<void> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (request.readableEnded || request.destroyed || announced > LIMIT) return Promise.resolve();
  return new Promise((resolve) => {
    let left = LIMIT;
    const settle = () => {
      clearTimeout(timer);
      request.off('data', onData).off('end', settle).off('close', settle);
      resolve();
    };
    const timer = setTimeout(settle, PATIENCE);
    const onData = (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) settle();
      else timer.refresh();
    };
    request.on('data', onData).once('end', settle).once('close', settle);
    request.resume();
  });
}
