import { registerHooks } from 'node:module';
import { readSettings } from '@gatehouse/core/config';
import {
  continueTrace,
  currentTraceparent,
  during,
  isTracing,
  startSpan,
  traceFields,
} from '@gatehouse/core/tracing';
import { startTracing } from '@gatehouse/server/tracing/start-tracing';
import { tracingSettings } from '@gatehouse/server/tracing/tracing-settings';
import { SPAN_KINDS } from '@gatehouse/testing/otlp-receiver';
import { until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import { record, serve } from './traced-service.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const MARK = 'marked';

t.test('without a collector nothing of OpenTelemetry is loaded, and nothing is recorded', async (t) => {
  const loaded: string[] = [];
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      loaded.push(specifier);
      return next(specifier, context);
    },
  });
  t.teardown(() => hooks.deregister());
  await startTracing(readSettings(tracingSettings, { OTEL_EXPORTER_OTLP_ENDPOINT: '' }), 'test', logger);
  t.notOk(isTracing());
  t.equal(continueTrace(undefined, 'x', { kind: 'server' }), undefined);
  t.equal(await during(startSpan('x', { kind: 'client' }), async () => 'done'), 'done');
  t.same([currentTraceparent(), traceFields()], [undefined, {}]);
  const ofOpenTelemetry = () => loaded.filter((specifier) => specifier.includes('opentelemetry'));
  t.same(ofOpenTelemetry(), []);
  await record(t);
  t.ok(isTracing());
  t.not(ofOpenTelemetry().length, 0);
});

t.test('a request continues the trace of a valid traceparent (W3C Trace Context §3.2.2)', async (t) => {
  const { collector, logger, send } = await record(t);
  const url = await serve(t, logger);
  const valid = [`00-${TRACE}-${PARENT}-01`, `cc-${TRACE}-${PARENT}-01-what-the-future-will-be-like`];
  const invalid = [
    `ff-${TRACE}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-01-more`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}-${PARENT}`,
    `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`,
    'x'.repeat(8000),
  ];
  const traces: string[] = [];
  for (const traceparent of [...valid, ...invalid, undefined]) {
    const response = await fetch(`${url}/things/1`, traceparent ? { headers: { traceparent } } : {});
    t.equal(response.status, 200);
    const [, trace = ''] = (await response.text()).split('-');
    t.match(trace, /^[\da-f]{32}$/);
    t.equal(trace === TRACE, valid.includes(traceparent ?? ''), `${traceparent}`.slice(0, 99));
    traces.push(trace);
  }
  await send();
  const spans = collector.spans();
  t.same(spans.map(({ traceId }) => traceId).sort(), traces.sort());
  for (const { traceId, parentSpanId, ...span } of spans) {
    t.equal(parentSpanId || undefined, traceId === TRACE ? PARENT : undefined);
    t.match(span, { process: 'gatehouse-test', name: 'GET /things/:id', kind: SPAN_KINDS.server });
    t.same(span.attributes, {
      'http.request.method': 'GET',
      'http.route': '/things/:id',
      'http.response.status_code': 200,
      'gatehouse.service': 'things',
    });
  }
});

t.test('log lines carry the id of their trace; probes have none, and unknown paths', async (t) => {
  const { collector, lines, logger, send } = await record(t);
  const url = await serve(t, logger);
  await fetch(`${url}/things/fault?token=${MARK}`, { headers: { traceparent: `00-${TRACE}-${PARENT}-01` } });
  for (const path of ['/health/live', '/metrics', '/nothing']) await fetch(url + path);
  await until(() => lines.some(({ route }) => route === '/nothing'), 5000);
  t.match(lines, [
    { msg: 'at work', trace_id: TRACE },
    { msg: 'request', status: 500, trace_id: TRACE },
    { route: '/metrics', trace_id: undefined },
    { route: '/nothing', trace_id: undefined },
  ]);
  await send();
  t.match(collector.spans(), [{ failed: true, attributes: { 'error.type': '500' } }]);
  t.equal(collector.spans().length, 1);
  t.notMatch(collector.received(), MARK);
});

t.test('which traces are recorded', async (t) => {
  const cases: [sampler: string, arg: string, flag: string | undefined, isRecorded: boolean][] = [
    ['', '', undefined, true],
    ['', '', '00', false],
    ['parentbased_always_on', '', '01', true],
    ['parentbased_always_off', '', undefined, false],
    ['parentbased_traceidratio', '0', '01', true],
    ['parentbased_traceidratio', '0', undefined, false],
    ['always_on', '', '00', true],
    ['always_off', '', '01', false],
    // The flag of a caller decides nothing.
    ['traceidratio', '0', '01', false],
    ['traceidratio', '1', '00', true],
  ];
  for (const [sampler, arg, flag, isRecorded] of cases) {
    const env = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: arg };
    const { collector, send } = await record(t, env);
    const caller = flag && `00-${TRACE}-${PARENT}-${flag}`;
    let caused: string | undefined;
    await during(continueTrace(caller, 'request', { kind: 'server' }), async () => {
      caused = currentTraceparent();
      await during(startSpan('below', { kind: 'client' }), async () => {});
    });
    const name = `${sampler} ${arg} ${flag}`;
    t.match(
      caused,
      new RegExp(`^00-${flag ? TRACE : '[\\da-f]{32}'}-[\\da-f]{16}-0${Number(isRecorded)}$`),
      name,
    );
    await send();
    t.same(
      collector
        .spans()
        .map((span) => span.name)
        .sort(),
      isRecorded ? ['below', 'request'] : [],
      name,
    );
  }
});

t.test('a share of the traces is recorded, the same ones in every service', async (t) => {
  const { collector, send } = await record(t, {
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.5',
  });
  const receive = (from: string | undefined) => {
    const span = continueTrace(from, 'request', { kind: 'server' });
    t.equal(span?.traceparent, span?.traceparent);
    const below = span?.run(() => startSpan('below', { kind: 'client' }));
    t.equal(below !== undefined, span?.traceparent.endsWith('01'));
    span?.end();
    return span?.traceparent ?? '';
  };
  const first = Array.from({ length: 200 }, () => receive(undefined));
  const second = first.map(receive);
  const traceOf = (traceparent: string) => traceparent.split('-')[1] ?? '';
  const idsOf = (traceparents: string[]) =>
    traceparents
      .filter((traceparent) => traceparent.endsWith('01'))
      .map(traceOf)
      .sort();
  const recorded = idsOf(first);
  t.ok(recorded.length > 50 && recorded.length < 150, `${recorded.length} of 200`);
  t.equal(new Set(first.map(traceOf)).size, 200);
  t.same(idsOf(second), recorded);
  await send();
  const spans = collector.spans();
  t.same([...new Set(spans.map(({ traceId }) => traceId))].sort(), recorded);
  t.equal(spans.length, 2 * recorded.length);
});

t.test('work at the same time has parents of its own, and errors show their kind only', async (t) => {
  const { collector, send } = await record(t);
  const begin = (name: string) =>
    during(continueTrace(undefined, name, { kind: 'server' }), async () => {
      await new Promise(setImmediate);
      await during(startSpan(`below ${name}`, { kind: 'client' }), async () => {
        await new Promise(setImmediate);
        throw new RangeError(MARK);
      }).catch(() => {});
    });
  await Promise.all(['a', 'b'].map(begin));
  t.equal(startSpan('below nothing', { kind: 'client' }), undefined);
  await send();
  const spans = new Map(collector.spans().map((span) => [span.name, span]));
  t.equal(spans.size, 4);
  for (const name of ['a', 'b']) {
    const below = spans.get(`below ${name}`);
    t.equal(below?.parentSpanId, spans.get(name)?.spanId);
    t.match(below, { failed: true, attributes: { 'error.type': 'RangeError' } });
  }
  t.notMatch(collector.received(), MARK);
});

t.test('work that a request has started belongs to its trace for half a minute after its end', async (t) => {
  await record(t);
  const span = continueTrace(undefined, 'request', { kind: 'server' });
  span?.end();
  const isPart = () =>
    span?.run(() => [startSpan('late', { kind: 'client' }), currentTraceparent()].every(Boolean));
  t.ok(isPart());
  const now = performance.now.bind(performance);
  t.intercept(performance, 'now', { value: () => now() + 31_000 });
  t.notOk(isPart());
});
