import { type RunOptions, run } from '@gatehouse/server/run';
import type { Service } from '@gatehouse/server/service';
import { logger } from './test-logger.ts';

/** Serves services on a port of their own on loopback until the test ends, by default without waiting for requests then. */
export async function runServices(
  t: { teardown(action: () => unknown): void },
  services: readonly Service[],
  options: Partial<RunOptions> = {},
) {
  const running = await run(services, {
    port: 0,
    host: '127.0.0.1',
    logger,
    trustedProxies: [],
    requireHttps: false,
    drainSeconds: 0,
    ...options,
  });
  t.teardown(() => running.stop());
  return { running, port: running.port, url: `http://127.0.0.1:${running.port}` };
}

/** A service that answers with its name and the URL it was asked for. */
export function service(name: string, parts: Partial<Service> = {}): Service {
  return {
    name,
    prefixes: [`/${name}`],
    handle: (request, response) => void response.end(`${name} ${request.url}`),
    start: async () => {},
    stop: async () => {},
    unready: async () => undefined,
    ...parts,
  };
}
