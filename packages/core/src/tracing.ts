/** As OpenTelemetry names them. */
export type SpanKind = 'server' | 'client' | 'producer' | 'consumer';

/**
 * The attributes of a span, by the names of the OpenTelemetry semantic conventions; what is undefined is left out. Traces go to other
 * systems and other people than data does: no secret, no personal data, no query string, and no value from a database.
 */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

export type SpanOptions = { kind: SpanKind; attributes?: SpanAttributes };

/** Something that this process does, as a part of a trace. */
export type Span = {
  /** The header for what it causes elsewhere (W3C Trace Context §3.2). */
  readonly traceparent: string;
  /** Does the work as a part of the span: spans that the work starts are its children. */
  run<T>(work: () => T): T;
  /** Only the name of an error is recorded, since messages may quote anything. */
  end(result?: SpanEnd): void;
};

export type SpanEnd = { name?: string | undefined; attributes?: SpanAttributes | undefined; error?: unknown };

/** The recorder of spans: OpenTelemetry, see open-telemetry.ts. */
export type Tracer = {
  continueTrace(traceparent: string | undefined, name: string, options: SpanOptions): Span;
  startSpan(name: string, options: SpanOptions): Span | undefined;
  /** The ids of the work at hand. */
  current(): { traceId: string; traceparent: string } | undefined;
};

/** One for the whole process, since work and its parts cross all packages. Without it, a span costs a comparison. */
let tracer: Tracer | undefined;

/** From now on spans are recorded by this tracer, or by none. */
export function recordSpans(by: Tracer | undefined): void {
  tracer = by;
}

export function isTracing(): boolean {
  return tracer !== undefined;
}

/**
 * A span that continues the trace of a `traceparent`. It begins a trace when there is none, or when that is not valid (W3C
 * Trace Context §3.2.2). Undefined when nothing is recorded.
 */
export function continueTrace(
  traceparent: string | undefined,
  name: string,
  options: SpanOptions,
): Span | undefined {
  return tracer?.continueTrace(traceparent, name, options);
}

/** A span below the one at hand. Undefined when there is none, or when its trace is not sampled. */
export function startSpan(name: string, options: SpanOptions): Span | undefined {
  return tracer?.startSpan(name, options);
}

/** The `traceparent` of the work at hand, for what it stores or sends. */
export function currentTraceparent(): string | undefined {
  return tracer?.current()?.traceparent;
}

/** The fields of the current trace in log lines. */
export function traceFields(): { trace_id?: string } {
  const current = tracer?.current();
  return current === undefined ? {} : { trace_id: current.traceId };
}

/** Does the work as a part of the span, if there is one. */
export function runIn<T>(span: Span | undefined, work: () => T): T {
  return span === undefined ? work() : span.run(work);
}

/** The same; the span ends with the work. `describe` adds attributes that are known only at the end. */
export function during<T>(
  span: Span | undefined,
  work: () => Promise<T>,
  describe?: (result: T) => SpanAttributes,
): Promise<T> {
  if (span === undefined) return work();
  return span.run(work).then(
    (result) => {
      span.end({ attributes: describe?.(result) });
      return result;
    },
    (error: unknown) => {
      span.end({ error });
      throw error;
    },
  );
}
