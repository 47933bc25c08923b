import type { Logger } from '@gatehouse/core/logger';
import { recordSpans } from '@gatehouse/core/tracing';
import type { TracingSettings } from './tracing-settings.ts';

/**
 * Starts to record traces, if the settings name a collector: only then OpenTelemetry is loaded. Call it before services are
 * started. Returns a function that sends what is recorded, within some seconds, and ends the recording.
 *
 * @param name of the process in traces, unless a setting has another
 */
export async function startTracing(
  settings: TracingSettings,
  name: string,
  logger: Logger,
): Promise<() => Promise<void>> {
  const { otlpEndpoint: endpoint, serviceName = name } = settings;
  if (endpoint === undefined) return async () => {};
  const { createTracer } = await import('./open-telemetry.ts');
  const { tracer, stop } = createTracer({ ...settings, endpoint, serviceName }, logger);
  recordSpans(tracer);
  return async () => {
    recordSpans(undefined);
    await stop();
  };
}
