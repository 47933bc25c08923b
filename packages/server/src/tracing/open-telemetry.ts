import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gatehouse/core/logger';
import type { Span, SpanOptions, Tracer } from '@gatehouse/core/tracing';
import {
  type Context,
  DiagLogLevel,
  diag,
  type Span as OpenTelemetrySpan,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { parseKeyPairsIntoRecord, parseTraceParent, setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { TracingSettings } from './tracing-settings.ts';

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
};
/**
 * How long after its end a span can have children, in milliseconds: what a request has begun may go on for a while, but a timer
 * that it has started for the whole process does not belong to it for ever.
 */
const LATE_MS = 30_000;
/** How long stop() waits for the collector. */
const FLUSH_MS = 3000;
const WARN_EVERY_MS = 60_000;

/** A span that work is a part of, and when it ended. */
type Active = { span: OpenTelemetrySpan; endedAt: number };

/**
 * Records spans by the SDK of OpenTelemetry and sends them to a collector by OTLP over HTTP, in the background. At most 2,048
 * spans wait for it; further ones are dropped.
 */
export function createTracer(
  settings: TracingSettings & { endpoint: string; serviceName: string },
  logger: Logger,
): { tracer: Tracer; stop(): Promise<void> } {
  const { endpoint, otlpHeaders, resourceAttributes, serviceName } = settings;
  const warn = createWarning(logger);
  setGlobalErrorHandler((error) => warn({ err: error }));
  const ignore = () => {};
  const toLog = { error: ignore, warn: (reason: string) => warn({ reason }), info: ignore, debug: ignore };
  diag.setLogger(
    { ...toLog, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/$/, '')}/v1/traces`,
    headers: parseKeyPairsIntoRecord(otlpHeaders),
  });
  const provider = new TracerProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({
        ...parseKeyPairsIntoRecord(resourceAttributes),
        'service.name': serviceName,
      }),
    ),
    sampler: samplerOf(settings),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const spans = provider.getTracer('gatehouse');
  const active = new AsyncLocalStorage<Active>();

  function start(name: string, { kind, attributes = {} }: SpanOptions, parent: Context): Span {
    const span = spans.startSpan(name, { kind: KINDS[kind] }, parent);
    // The SDK would check them before it knows whether it keeps them.
    if (isSampled(span)) span.setAttributes(attributes);
    const own: Active = { span, endedAt: Number.POSITIVE_INFINITY };
    return {
      get traceparent() {
        return traceparentOf(span);
      },
      run: (work) => active.run(own, work),
      end({ name, attributes = {}, error } = {}) {
        own.endedAt = performance.now();
        if (!isSampled(span)) return;
        if (name !== undefined) span.updateName(name);
        span.setAttributes(attributes);
        if (error !== undefined) {
          span.setAttribute('error.type', error instanceof Error ? error.name : String(error));
          span.setStatus({ code: SpanStatusCode.ERROR });
        }
        span.end();
      },
    };
  }

  function current(): OpenTelemetrySpan | undefined {
    const found = active.getStore();
    return found === undefined || performance.now() - found.endedAt > LATE_MS ? undefined : found.span;
  }

  return {
    tracer: {
      continueTrace(traceparent, name, options) {
        const remote = traceparent === undefined ? null : parseTraceParent(traceparent);
        const parent =
          remote === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...remote, isRemote: true });
        return start(name, options, parent);
      },
      startSpan(name, options) {
        const parent = current();
        if (parent === undefined || !isSampled(parent)) return undefined;
        return start(name, options, trace.setSpan(ROOT_CONTEXT, parent));
      },
      current() {
        const span = current();
        return span && { traceId: span.spanContext().traceId, traceparent: traceparentOf(span) };
      },
    },
    async stop() {
      const flushed = provider.shutdown().catch((error: unknown) => warn({ err: error }));
      await Promise.race([flushed, sleep(FLUSH_MS, undefined, { ref: false })]);
    },
  };
}

function isSampled(span: OpenTelemetrySpan): boolean {
  return (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0;
}

function traceparentOf(span: OpenTelemetrySpan): string {
  const { traceId, spanId } = span.spanContext();
  return `00-${traceId}-${spanId}-${isSampled(span) ? '01' : '00'}`;
}

/** https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/#general-sdk-configuration */
function samplerOf({ sampler, samplerArg }: TracingSettings): Sampler {
  const roots = {
    always_on: new AlwaysOnSampler(),
    always_off: new AlwaysOffSampler(),
    traceidratio: new TraceIdRatioBasedSampler(samplerArg),
  };
  const name = sampler.replace('parentbased_', '') as keyof typeof roots;
  return sampler === name ? roots[name] : new ParentBasedSampler({ root: roots[name] });
}

/** Logs that spans were lost, once a minute: all of them have the same cause. */
function createWarning(logger: Logger): (about: Record<string, unknown>) => void {
  let warnedAt = Number.NEGATIVE_INFINITY;
  return (about) => {
    if (performance.now() - warnedAt < WARN_EVERY_MS) return;
    warnedAt = performance.now();
    logger.warn(about, 'spans could not be sent to the collector of traces');
  };
}
