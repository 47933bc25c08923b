import { described, oneOf, optional, type SettingValues, share, text, url } from '@gatehouse/core/config';

const SAMPLERS = ['always_on', 'always_off', 'traceidratio'] as const;

/** Traces, by the environment variables of OpenTelemetry. */
export const tracingSettings = {
  otlpEndpoint: described(
    'The collector that traces are sent to, by OTLP over HTTP; `/v1/traces` is appended. Without it nothing is recorded.',
    optional(url('OTEL_EXPORTER_OTLP_ENDPOINT', ['http:', 'https:'])),
    'http://collector:4318',
  ),
  otlpHeaders: described(
    'Headers of these requests, separated by commas, such as credentials.',
    { ...text('OTEL_EXPORTER_OTLP_HEADERS', ''), isSecret: true },
    'authorization=Bearer%20TOKEN',
  ),
  sampler: described(
    'Which traces are recorded. `traceidratio` takes a share of all; with `parentbased_…` the flag of a caller decides first.',
    oneOf(
      'OTEL_TRACES_SAMPLER',
      [...SAMPLERS, ...SAMPLERS.map((name) => `parentbased_${name}` as const)],
      'parentbased_always_on',
    ),
  ),
  samplerArg: described('The share of `traceidratio`.', share('OTEL_TRACES_SAMPLER_ARG', 1)),
  serviceName: described(
    'The name of the process in traces.',
    optional(text('OTEL_SERVICE_NAME'), 'gatehouse, or gatehouse- and the name of the service'),
  ),
  resourceAttributes: described(
    'Further attributes of the process in traces, separated by commas.',
    text('OTEL_RESOURCE_ATTRIBUTES', ''),
    'deployment.environment.name=production',
  ),
};

export type TracingSettings = SettingValues<typeof tracingSettings>;
