import { createServer, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { readSettings } from '@gatehouse/core/config';
import { createLogger, type Logger } from '@gatehouse/core/logger';
import { startTracing } from '@gatehouse/server/tracing/start-tracing';
import { tracingSettings } from '@gatehouse/server/tracing/tracing-settings';
import { listen } from './listen.ts';

type Teardown = { teardown(action: () => unknown): void };

type AnyValue = {
  stringValue?: string;
  intValue?: number;
  boolValue?: boolean;
  arrayValue?: { values: AnyValue[] };
  kvlistValue?: { values: Attribute[] };
};
type Attribute = { key: string; value: AnyValue };
type LogsRequest = {
  resourceLogs: { resource: { attributes: Attribute[] }; scopeLogs: { logRecords: SentLog[] }[] }[];
};
type SentLog = {
  timeUnixNano: string;
  severityText: string;
  eventName: string;
  attributes: Attribute[];
  body: AnyValue;
};
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
 * A collector of traces and logs by OTLP over HTTP, in JSON (https://opentelemetry.io/docs/specs/otlp/#otlphttp). `state` has the
 * status, headers and body that it answers with, and an undefined status for never; it keeps what it has accepted.
 */
export async function startOtlpReceiver(t: Teardown) {
  const bodies: { path: string | undefined; body: string }[] = [];
  const at = (path: string) => bodies.filter((it) => it.path === path).map(({ body }) => JSON.parse(body));
  const state = {
    status: 200 as number | undefined,
    headers: {} as Record<string, string>,
    body: '{}',
    requests: 0,
    /** The headers of the last request. */
    received: {} as IncomingHttpHeaders,
  };
  const server = createServer(async (request, response) => {
    const body = await text(request);
    state.requests += 1;
    state.received = request.headers;
    if (state.status === undefined) return;
    if (state.status === 200) bodies.push({ path: request.url, body });
    response
      .writeHead(state.status, { 'content-type': 'application/json', ...state.headers })
      .end(state.body);
  });
  const port = await listen(t, server);
  return {
    url: `http://127.0.0.1:${port}`,
    state,
    /** All that was accepted, as it was sent. */
    received: () => bodies.map(({ body }) => body).join('\n'),
    spans: () => at('/v1/traces').flatMap(spansOf),
    logs: () => at('/v1/logs').flatMap(logsOf),
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

function logsOf({ resourceLogs }: LogsRequest) {
  return resourceLogs.flatMap(({ scopeLogs }) =>
    scopeLogs
      .flatMap(({ logRecords }) => logRecords)
      .map(({ attributes, body, ...record }) => ({
        ...record,
        attributes: valuesOf(attributes),
        body: plainValue(body) as Record<string, unknown>,
      })),
  );
}

function plainValue(value: AnyValue): unknown {
  if (value.kvlistValue !== undefined)
    return Object.fromEntries(value.kvlistValue.values.map((it) => [it.key, plainValue(it.value)]));
  if (value.arrayValue !== undefined) return value.arrayValue.values.map(plainValue);
  return (
    value.stringValue ?? value.boolValue ?? (value.intValue === undefined ? null : Number(value.intValue))
  );
}

function valuesOf(attributes: Attribute[]) {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]),
  );
}
