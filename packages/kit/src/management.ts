import type { ServerResponse } from 'node:http';
import { sendJson } from './json-answer.ts';
import type { Logger } from './logger.ts';
import { createMetricsEndpoint } from './metrics-endpoint.ts';
import type { Service } from './service.ts';

/** `serving` while requests are accepted. */
type Phase = 'starting' | 'serving' | 'stopping';

/** What operators and load balancers ask a process: /health/live, /health/ready and /metrics. No edge passes them on. */
export function createManagement(services: readonly Service[], phase: () => Phase, logger: Logger) {
  const metrics = createMetricsEndpoint(services, logger);

  /** For each service `ok`, or why it cannot serve. */
  async function readiness(): Promise<(readonly [name: string, reason: string])[]> {
    return Promise.all(
      services.map(async ({ name, unready }) => {
        try {
          return [name, (await unready()) ?? 'ok'] as const;
        } catch {
          return [name, 'its check failed'] as const;
        }
      }),
    );
  }
  const areReady = (reasons: Awaited<ReturnType<typeof readiness>>) =>
    reasons.every(([, reason]) => reason === 'ok');

  async function reportReadiness(response: ServerResponse): Promise<void> {
    const reasons = await readiness();
    const status = phase() !== 'serving' ? phase() : areReady(reasons) ? 'ready' : 'unavailable';
    sendJson(response, status === 'ready' ? 200 : 503, {
      status,
      services: Object.fromEntries(reasons),
    });
  }

  return {
    observe: metrics.observe,
    stop: metrics.stop,
    /** Whether every service can serve at the moment. */
    isReady: async () => areReady(await readiness()),
    /** Answers these paths; false for any other, which is left unanswered. */
    answer(path: string, response: ServerResponse): boolean {
      if (path === '/health/live') sendJson(response, 200, { status: 'ok' });
      else if (path === '/health/ready') void reportReadiness(response);
      else if (path === '/metrics') void metrics.answer(response);
      else return false;
      return true;
    },
  };
}
