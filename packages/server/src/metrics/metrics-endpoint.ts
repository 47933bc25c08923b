import type { ServerResponse } from 'node:http';
import type { Logger } from '@gatehouse/core/logger';
import { METRICS_TYPE, type MetricFamily, metricsText } from '@gatehouse/core/metrics-text';
import type { CompletedRequest } from '../completed-request.ts';
import type { Service } from '../service.ts';
import { createProcessMetrics } from './process-metrics.ts';
import { createRequestMetrics } from './request-metrics.ts';

/**
 * The metrics at /metrics: those of the requests, of the process, and those that the services add, with the name of
 * the service as a label. The edge does not pass it on.
 */
export function createMetricsEndpoint(services: readonly Service[], logger: Logger) {
  const requests = createRequestMetrics();
  const process = createProcessMetrics();

  /** Nothing if the service fails to report: the other metrics are needed then most of all. */
  function metricsOf({ name, metrics }: Service): MetricFamily[] {
    try {
      return (metrics?.() ?? []).map((family) => ({
        ...family,
        samples: family.samples.map(({ labels, value }) => ({ labels: { service: name, ...labels }, value })),
      }));
    } catch (error) {
      logger.warn({ err: error, service: name }, 'metrics could not be read');
      return [];
    }
  }

  return {
    observe(service: Service, request: CompletedRequest): void {
      requests.observe(service.name, request);
      service.observe?.(request);
    },
    /** @param readiness the metric of it, which is known elsewhere */
    respond(response: ServerResponse, readiness: MetricFamily): void {
      const ofServices = services.flatMap(metricsOf);
      const text = metricsText([...requests.families(), ...process.families(), readiness, ...ofServices]);
      response.writeHead(200, { 'content-type': METRICS_TYPE, 'cache-control': 'no-store' }).end(text);
    },
    stop: process.stop,
  };
}
