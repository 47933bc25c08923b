// Runs alone, as it measures time.
import { continueTrace, isTracing } from '@gatehouse/core/tracing';
import { freePort, until } from '@gatehouse/testing/processes';
import t from 'tap';
import { record, serve } from './traced-service.ts';

t.test('a collector that fails, hangs or is away costs spans and nothing else', async (t) => {
  for (const state of ['fails', 'hangs', 'is away']) {
    // Read by the exporter itself: how long it tries.
    process.env.OTEL_EXPORTER_OTLP_TIMEOUT = state === 'hangs' ? '6000' : '1000';
    const away = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}` };
    const { collector, lines, logger, send } = await record(t, state === 'is away' ? away : {});
    collector.state.status = state === 'fails' ? 400 : undefined;
    const url = await serve(t, logger);
    for (let i = 0; i < 5000; i += 1) continueTrace(undefined, `span ${i}`, { kind: 'client' })?.end();
    t.equal((await fetch(`${url}/things/1`)).status, 200, state);
    if (state === 'fails') await until(() => lines.some(({ msg }) => /collector/.test(`${msg}`)), 5000);
    if (state === 'fails') collector.state.status = 200;
    const begin = performance.now();
    await send();
    t.ok(performance.now() - begin < 4000, `${state}: it stops`);
    t.notOk(isTracing());
    t.ok(collector.spans().length <= 2048 + 512, `${state}: what waits is bounded`);
    t.ok(lines.filter(({ msg }) => /collector/.test(`${msg}`)).length <= 1, `${state}: one line`);
  }
});
