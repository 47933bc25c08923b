import { type DestinationStream, pino } from 'pino';

/** How long a line below the level `warn` may wait to be written, in milliseconds. */
const MAX_DELAY_MS = 20;
/** Lines that wait are written once they have this many characters. */
const MAX_WAITING_LENGTH = 4096;
/** The number of pino's level `warn`. */
const WARN = 40;

/**
 * Standard output for log lines, which writes several at once: a write of its own for each line would cost more CPU
 * than everything else about it. Lines of the level `warn` and above are written immediately, together with those that
 * wait, and all are written before the process exits. Only a process that is killed can lose lines, the last 20 ms.
 */
export function createLogOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true });
  let waiting = '';
  let timer: NodeJS.Timeout | undefined;
  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (waiting !== '') output.write(waiting);
    waiting = '';
  }
  process.on('exit', flush);
  const destination = {
    // Makes pino set `lastLevel` before each write.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string) {
      waiting += line;
      if (destination.lastLevel >= WARN || waiting.length >= MAX_WAITING_LENGTH) flush();
      else timer ??= setTimeout(flush, MAX_DELAY_MS).unref();
    },
  };
  return destination;
}
