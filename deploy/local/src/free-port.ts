import { createServer } from 'node:net';
import { StartError } from './start-error.ts';

/**
 * Checks the port before the database is started, so that a failure is immediate and leaves nothing behind.
 * @throws StartError when the port is in use or cannot be opened
 */
export function requireFreePort(port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => {
      const sentence =
        error.code === 'EADDRINUSE'
          ? `Port ${port} is in use: stop what uses it, or set PORT to another.`
          : `Port ${port} cannot be opened on ${host} (${error.code}): set HOST or PORT to others.`;
      reject(new StartError(sentence));
    });
    probe.listen({ port, host }, () => probe.close(() => resolve()));
  });
}
