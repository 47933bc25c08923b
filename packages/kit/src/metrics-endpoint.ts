import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CompletedRequest } from './completed-request.ts';
import type { Logger } from './logger.ts';
import { METRICS_TYPE, type MetricFamily, metricsText } from './metrics-text.ts';
import { createProcessMetrics } from './process-metrics.ts';
import { createRequestMetrics } from './request-metrics.ts';
import type { Service } from './service.ts';

/** How long a service may take to read its metrics. */
const TIMEOUT_MS = 2000;

/**
 * What operators scrape at /metrics: the requests of the services, the process, and what the services add. The edge does
 * not pass it on.
 */
export function createMetricsEndpoint(services: readonly Service[], logger: Logger) {
  const requests = createRequestMetrics();
  const process = createProcessMetrics();

  /** Nothing while the service cannot tell: the other metrics are needed then most of all. */
  async function metricsOf({ name, metrics }: Service): Promise<readonly MetricFamily[]> {
    const timer = new AbortController();
    const late = sleep(TIMEOUT_MS, undefined, { signal: timer.signal }).then(() => {
      throw new Error(`no answer within ${TIMEOUT_MS} ms`);
    });
    late.catch(() => {});
    try {
      return (await Promise.race([metrics?.(), late])) ?? [];
    } catch (error) {
      logger.warn({ err: error, service: name }, 'metrics could not be read');
      return [];
    } finally {
      timer.abort();
    }
  }

  return {
    observe(service: Service, request: CompletedRequest): void {
      requests.observe(service.name, request);
      service.observe?.(request);
    },
    async answer(response: ServerResponse): Promise<void> {
      const ofServices = await Promise.all(services.map(metricsOf));
      const text = metricsText([...requests.families(), ...process.families(), ...ofServices.flat()]);
      response.writeHead(200, { 'content-type': METRICS_TYPE, 'cache-control': 'no-store' }).end(text);
    },
    stop: process.stop,
  };
}
