import type { IncomingMessage, ServerResponse } from 'node:http';
import { metricsText } from '@gatehouse/core/metrics-text';
import type { CompletedRequest } from '@gatehouse/server/completed-request';
import { requestInfo } from '@gatehouse/server/requests';
import type { Service } from '@gatehouse/server/service';
import { runServices, service } from '@gatehouse/testing/run-services';
import t, { type Test } from 'tap';

t.test('the text format', async (t) => {
  const text = metricsText([
    { name: 'a_total', help: 'One\nline.', type: 'counter', samples: [{ value: 3 }] },
    {
      name: 'b',
      help: 'B.',
      type: 'gauge',
      samples: [{ labels: { path: 'C:\\"x"\n', lane: 'sms' }, value: -0.5 }],
    },
    {
      name: 'c_seconds',
      help: 'C.',
      type: 'histogram',
      bounds: [0.1, 1],
      samples: [{ labels: { route: '/' }, counts: [2, 0, 1], sum: 7.5 }],
    },
    { name: 'b', help: 'B.', type: 'gauge', samples: [{ value: Infinity }] },
  ]);
  t.equal(
    text,
    `# HELP a_total One\\nline.
# TYPE a_total counter
a_total 3
# HELP b B.
# TYPE b gauge
b{path="C:\\\\\\"x\\"\\n",lane="sms"} -0.5
b +Inf
# HELP c_seconds C.
# TYPE c_seconds histogram
c_seconds_bucket{route="/",le="0.1"} 2
c_seconds_bucket{route="/",le="1"} 2
c_seconds_bucket{route="/",le="+Inf"} 3
c_seconds_sum{route="/"} 7.5
c_seconds_count{route="/"} 3
`,
  );
});

async function serve(t: Test, parts: Partial<Service> = {}) {
  const seen: CompletedRequest[] = [];
  const shop = service('shop', {
    handle(request: IncomingMessage, response: ServerResponse) {
      const info = requestInfo(request);
      if (request.url !== '/shop/none') info.route = '/shop/:id';
      info.client = 'app_1';
      response.writeHead(request.url === '/shop/broken' ? 500 : 200).end();
    },
    observe: (request) => void seen.push(request),
    ...parts,
  });
  const { running, url } = await runServices(t, [shop], { drainSeconds: 1 });
  const ask = async (path: string, method = 'GET') => {
    const response = await fetch(url + path, { method });
    return { type: response.headers.get('content-type'), text: await response.text() };
  };
  return { running, ask, seen };
}

t.test('/metrics has the requests by route, the process, and what a service adds', async (t) => {
  const { ask, seen } = await serve(t, {
    metrics: () => [
      {
        name: 'shop_queue_depth',
        help: 'Waiting.',
        type: 'gauge',
        samples: [{ labels: { queue: 'a' }, value: 4 }],
      },
    ],
  });
  for (const path of ['/shop/1', '/shop/2', '/shop/broken', '/shop/none', '/elsewhere', '/health/live'])
    await ask(path);
  await ask('/shop/1', 'PROPFIND');
  const { type, text } = await ask('/metrics');
  t.equal(type, 'text/plain; version=0.0.4; charset=utf-8');
  for (const line of [
    'gatehouse_http_requests_total{service="shop",method="GET",route="/shop/:id",status="2xx"} 2',
    'gatehouse_http_requests_total{service="shop",method="GET",route="/shop/:id",status="5xx"} 1',
    'gatehouse_http_requests_total{service="shop",method="unknown",route="unknown",status="2xx"} 2',
    'gatehouse_http_request_duration_seconds_count{service="shop",method="GET",route="/shop/:id"} 3',
    'gatehouse_http_request_duration_seconds_bucket{service="shop",method="GET",route="/shop/:id",le="+Inf"} 3',
    'shop_queue_depth{service="shop",queue="a"} 4',
  ]) {
    t.ok(text.includes(`\n${line}\n`), line);
  }
  t.match(text, /\nprocess_resident_memory_bytes \d{7,}\n/);
  t.match(text, /\ngatehouse_event_loop_delay_seconds\{quantile="0.99"\} [\d.e-]+\n/);
  t.notMatch(text, /elsewhere|health|app_1/);
  t.match(seen.slice(0, 4), [
    { route: 'GET /shop/:id', client: 'app_1', status: 200 },
    {},
    { status: 500 },
    { route: 'unknown' },
  ]);
});

t.test('a service whose metrics fail does not keep the others away', async (t) => {
  const metrics = () => {
    throw new Error('no');
  };
  const { ask } = await serve(t, { metrics });
  t.match((await ask('/metrics')).text, /process_cpu_seconds_total/);
});

t.test('readiness is as it was found last, and a scrape does not ask for it', async (t) => {
  let asked = 0;
  let reason: string | undefined;
  const { ask } = await serve(t, {
    async unready() {
      asked += 1;
      return reason;
    },
  });
  const ready = async () =>
    /^gatehouse_ready\{service="shop"\} (.+)$/m.exec((await ask('/metrics')).text)?.[1];
  t.equal(await ready(), undefined, 'nobody has asked yet');
  t.match((await ask('/metrics')).text, /^gatehouse_info\{version="\d/m);
  await ask('/health/ready');
  t.equal(await ready(), '1');
  reason = 'its database cannot be reached';
  t.equal(await ready(), '1');
  t.equal(asked, 1);
  await ask('/health/ready');
  t.equal(await ready(), '0');
  t.intercept(performance, 'now', { value: () => 1e9 });
  t.equal(await ready(), undefined, 'it was asked for long ago');
});

t.test('services hand over what they counted after the last request, before any is stopped', async (t) => {
  const order: string[] = [];
  const { running, ask } = await serve(t, {
    flush: async () => void order.push('flush'),
    stop: async () => void order.push('stop'),
  });
  await running.started;
  await ask('/shop/1');
  await running.stop();
  t.same(order, ['flush', 'stop']);
});
