import { createLogger } from '@gatehouse/core/logger';
import { currentTraceparent } from '@gatehouse/core/tracing';
import { requestInfo } from '@gatehouse/server/requests';
import { recordTraces } from '@gatehouse/testing/otlp-receiver';
import { runServices, service } from '@gatehouse/testing/run-services';
import type { Test } from 'tap';

/** The traces of this process, and its log. */
export async function record(t: Test, env: Record<string, string> = {}) {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const logger = createLogger({ name: 'test', level: 'info', readable: false, destination, traced: true });
  const { send, ...collector } = await recordTraces(t, env, logger);
  return { collector, lines, logger, send };
}

/** A service that answers with the traceparent of its work, under `/things/{id}`; `/things/fault` is a fault. */
export async function serve(t: Test, logger: ReturnType<typeof createLogger>): Promise<string> {
  const things = service('things', {
    async handle(request, response) {
      requestInfo(request).route = '/things/:id';
      await new Promise(setImmediate);
      logger.info('at work');
      response.statusCode = request.url?.startsWith('/things/fault') ? 500 : 200;
      response.end(currentTraceparent());
    },
  });
  return (await runServices(t, [things], { logger })).url;
}
