import { createLogger } from '@gatehouse/core/logger';

/** A logger that writes nothing. */
export const logger = createLogger({ name: 'test', level: 'silent', readable: false });

/** A logger of this level, and the lines that it has written, as objects and as one text. */
export function recordingLogger(level = 'info') {
  const lines: Record<string, unknown>[] = [];
  const written: string[] = [];
  const destination = {
    write(line: string) {
      written.push(line);
      lines.push(JSON.parse(line));
    },
  };
  const recorder = createLogger({ name: 'test', level, readable: false, destination });
  return { logger: recorder, lines, text: () => written.join('') };
}
