import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { readSettings } from '@gatehouse/core/config';
import { createLogger, type Logger } from '@gatehouse/core/logger';
import { startTracing } from '@gatehouse/server/tracing/start-tracing';
import { tracingSettings } from '@gatehouse/server/tracing/tracing-settings';
import { listen } from './listen.ts';

type Teardown = { teardown(action: () => unknown): void };

type Attribute = { key: string; value: { stringValue?: string; intValue?: number } };
type ExportRequest = {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: { spans: (SentSpan & { attributes: Attribute[]; status: { code?: number } })[] }[];
  }[];
};
type SentSpan = { name: string; kind: number; traceId: string; spanId: string; parentSpanId?: string };
export type ReceivedSpan = SentSpan & {
  /** The process that has sent it. */
  process: string;
  attributes: Record<string, string | number | undefined>;
  failed: boolean;
};

/** As numbers in OTLP (trace.proto, SpanKind). */
export const SPAN_KINDS = { server: 2, client: 3, producer: 4, consumer: 5 };
const ERROR = 2;

/**
 * A collector of traces by OTLP over HTTP, in JSON (https://opentelemetry.io/docs/specs/otlp/#otlphttp). `state.status` is what
 * it answers with, and undefined for never; it keeps what it has accepted.
 */
export async function startOtlpReceiver(t: Teardown) {
  const bodies: string[] = [];
  const state = { status: 200 as number | undefined, requests: 0 };
  const server = createServer(async (request, response) => {
    const body = await text(request);
    state.requests += 1;
    if (state.status === undefined) return;
    if (state.status === 200 && request.url === '/v1/traces') bodies.push(body);
    response.writeHead(state.status, { 'content-type': 'application/json' }).end('{}');
  });
  const port = await listen(t, server);
  return {
    url: `http://127.0.0.1:${port}`,
    state,
    /** All that was accepted, as it was sent. */
    received: () => bodies.join('\n'),
    spans: () => bodies.flatMap((body) => spansOf(JSON.parse(body))),
  };
}

/** Records the traces of this process at a collector; `send` ends that, and makes sure that they are there. */
export async function recordTraces(
  t: Teardown,
  env: NodeJS.ProcessEnv = {},
  logger: Logger = createLogger({ name: 'test', level: 'silent', readable: false }),
) {
  const collector = await startOtlpReceiver(t);
  const settings = readSettings(tracingSettings, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env });
  const send = await startTracing(settings, 'gatehouse-test', logger);
  t.teardown(send);
  return { ...collector, send };
}

function spansOf({ resourceSpans }: ExportRequest): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const process = String(valuesOf(resource.attributes)['service.name']);
    return scopeSpans
      .flatMap(({ spans }) => spans)
      .map(({ attributes, status, ...span }) => ({
        ...span,
        process,
        attributes: valuesOf(attributes),
        failed: status.code === ERROR,
      }));
  });
}

function valuesOf(attributes: Attribute[]) {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]),
  );
}
