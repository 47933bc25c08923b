import type { ServerResponse } from 'node:http';
import type { Logger } from '@gatehouse/core/logger';
import type { MetricFamily } from '@gatehouse/core/metrics-text';
import { VERSION } from '@gatehouse/core/version';
import { sendJson } from './json-response.ts';
import { createMetricsEndpoint } from './metrics/metrics-endpoint.ts';
import type { Service } from './service.ts';

/** `serving` while requests are accepted. */
type Phase = 'starting' | 'serving' | 'stopping';

/** For how long the response to /health/ready is that of /metrics, too, in milliseconds. */
const READINESS_KNOWN_MS = 60_000;

/** The endpoints for operators and load balancers: /health/live, /health/ready and /metrics. No edge passes them on. */
export function createManagement(services: readonly Service[], phase: () => Phase, logger: Logger) {
  const metrics = createMetricsEndpoint(services, logger);
  let known: { reasons: (readonly [name: string, reason: string])[]; at: number } = { reasons: [], at: 0 };

  /** For each service `ok`, or why it cannot serve. */
  async function readiness() {
    const reasons = await Promise.all(
      services.map(async ({ name, unready }) => {
        try {
          return [name, (await unready()) ?? 'ok'] as const;
        } catch {
          return [name, 'its check failed'] as const;
        }
      }),
    );
    known = { reasons, at: performance.now() };
    return reasons;
  }
  /** The last known state: finding out takes a request to the database, for which a scrape does not wait. */
  function readinessMetric(): MetricFamily {
    const isRecent = performance.now() - known.at < READINESS_KNOWN_MS;
    const value = (reason: string) => Number(phase() === 'serving' && reason === 'ok');
    return {
      name: 'gatehouse_ready',
      help: 'Whether the service was ready at its last readiness check, in the last minute.',
      type: 'gauge',
      samples: isRecent
        ? known.reasons.map(([service, reason]) => ({ labels: { service }, value: value(reason) }))
        : [],
    };
  }
  const areReady = (reasons: Awaited<ReturnType<typeof readiness>>) =>
    reasons.every(([, reason]) => reason === 'ok');

  async function reportReadiness(response: ServerResponse): Promise<void> {
    const reasons = await readiness();
    const status = phase() !== 'serving' ? phase() : areReady(reasons) ? 'ready' : 'unavailable';
    sendJson(response, status === 'ready' ? 200 : 503, {
      status,
      version: VERSION,
      services: Object.fromEntries(reasons),
    });
  }

  return {
    observe: metrics.observe,
    stop: metrics.stop,
    /** Whether every service can serve at the moment. */
    isReady: async () => areReady(await readiness()),
    /** Answers these paths; false for any other, which is left unanswered. */
    respond(path: string, response: ServerResponse): boolean {
      if (path === '/health/live') sendJson(response, 200, { status: 'ok' });
      else if (path === '/health/ready') void reportReadiness(response);
      else if (path === '/metrics') metrics.respond(response, readinessMetric());
      else return false;
      return true;
    },
  };
}
