import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gatehouse/core/logger';
import type { Span, SpanEnd, SpanOptions, Tracer } from '@gatehouse/core/tracing';
import {
  type Context,
  DiagLogLevel,
  diag,
  type Span as OpenTelemetrySpan,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { parseKeyPairsIntoRecord, parseTraceParent, setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  RandomIdGenerator,
  SamplingDecision,
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

const ids = new RandomIdGenerator();

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
  /** The id of the trace that was sampled last. The SDK, which is asked for its first span at once, would make one of its own. */
  let sampledId = '';
  const provider = new TracerProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({
        ...parseKeyPairsIntoRecord(resourceAttributes),
        'service.name': serviceName,
      }),
    ),
    // It is asked only for spans of traces that are sampled: for others it would do most of the work, too.
    sampler: new AlwaysOnSampler(),
    idGenerator: { generateTraceId: () => sampledId, generateSpanId: ids.generateSpanId },
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const spans = provider.getTracer('gatehouse');
  const isSampled = samplerOf(settings);
  const active = new AsyncLocalStorage<ActiveSpan>();

  function record(name: string, { kind, attributes = {} }: SpanOptions, parent: Context): Span {
    const span = spans.startSpan(name, { kind: KINDS[kind] }, parent).setAttributes(attributes);
    return new ActiveSpan(active, span.spanContext().traceId, span);
  }

  function current(): ActiveSpan | undefined {
    const found = active.getStore();
    return found === undefined || performance.now() - found.endedAt > LATE_MS ? undefined : found;
  }

  return {
    tracer: {
      continueTrace(traceparent, name, options) {
        const caller = traceparent === undefined ? null : parseTraceParent(traceparent);
        const traceId = caller?.traceId ?? ids.generateTraceId();
        if (!isSampled(traceId, caller)) return new ActiveSpan(active, traceId);
        sampledId = traceId;
        const parent =
          caller === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...caller, isRemote: true });
        return record(name, options, parent);
      },
      startSpan(name, options) {
        const parent = current()?.recorded;
        return parent && record(name, options, trace.setSpan(ROOT_CONTEXT, parent));
      },
      current,
    },
    async stop() {
      const flushed = provider.shutdown().catch((error: unknown) => warn({ err: error }));
      await Promise.race([flushed, sleep(FLUSH_MS, undefined, { ref: false })]);
    },
  };
}

/** A span that work can be a part of. For a trace that is not sampled it only has the ids that are passed on. */
class ActiveSpan implements Span {
  readonly traceId: string;
  readonly recorded: OpenTelemetrySpan | undefined;
  endedAt = Number.POSITIVE_INFINITY;
  readonly #active: AsyncLocalStorage<ActiveSpan>;
  #spanId: string | undefined;

  constructor(active: AsyncLocalStorage<ActiveSpan>, traceId: string, recorded?: OpenTelemetrySpan) {
    this.#active = active;
    this.traceId = traceId;
    this.recorded = recorded;
  }

  get traceparent(): string {
    this.#spanId ??= this.recorded?.spanContext().spanId ?? ids.generateSpanId();
    return `00-${this.traceId}-${this.#spanId}-${this.recorded === undefined ? '00' : '01'}`;
  }

  run<T>(work: () => T): T {
    return this.#active.run(this, work);
  }

  end({ name, attributes = {}, error }: SpanEnd = {}): void {
    this.endedAt = performance.now();
    const { recorded } = this;
    if (recorded === undefined) return;
    if (name !== undefined) recorded.updateName(name);
    recorded.setAttributes(attributes);
    if (error !== undefined) {
      recorded.setAttribute('error.type', error instanceof Error ? error.name : String(error));
      recorded.setStatus({ code: SpanStatusCode.ERROR });
    }
    recorded.end();
  }
}

/**
 * Whether a trace is recorded, by its id and by its caller, which is null where it begins.
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/#general-sdk-configuration
 */
function samplerOf({ sampler, samplerArg }: TracingSettings) {
  const shares = { always_on: 1, always_off: 0, traceidratio: samplerArg };
  const name = sampler.replace('parentbased_', '') as keyof typeof shares;
  const byId = new TraceIdRatioBasedSampler(shares[name]);
  return (traceId: string, caller: SpanContext | null): boolean =>
    caller === null || sampler === name
      ? byId.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED
      : (caller.traceFlags & TraceFlags.SAMPLED) !== 0;
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
