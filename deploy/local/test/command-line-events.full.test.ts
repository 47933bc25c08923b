import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createCommandLine } from '@gatehouse/testing/command-line';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { startGatehouse, temporaryDir } from './gatehouse.ts';

// It starts the deployment twice.
t.setTimeout(180_000);

const dataDir = temporaryDir(t);
const gatehouse = await startGatehouse(t, dataDir);
const { demo } = gatehouse;
const cli = createCommandLine(demo.base_url, temporaryDir(t));

type Delivery = { headers: IncomingHttpHeaders; body: string };
const deliveries: Delivery[] = [];
/** The statuses of the next responses; 204 once there are no more. */
const statuses: number[] = [];
const endpoint = createServer(async (request, response) => {
  deliveries.push({ headers: request.headers, body: await text(request) });
  response.writeHead(statuses.shift() ?? 204).end();
}).listen(0, '127.0.0.1');
await once(endpoint, 'listening');
t.teardown(() => endpoint.close());
const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/hook`;

await cli.allow(['login'], demo.user);
const listening = cli.start(['listen', '--forward-to', url]);
t.teardown(() => listening.end());
await until(() => /^Ready/.test(listening.stdout()), 20_000);
const [, secret = ''] = /(whsec_\S+)/.exec(listening.stdout()) ?? [];

t.test('a test event comes signed, and again after an error, with the same id', async (t) => {
  statuses.push(503);
  t.match(await cli.run(['trigger', 'order.created']), { status: 0, stdout: /order\.created/ });
  await until(() => deliveries.length === 2, 20_000);
  const ids = new Set<unknown>();
  for (const { headers, body } of deliveries) {
    const { 'webhook-id': id, 'webhook-timestamp': timestamp } = headers;
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
    t.equal(headers['webhook-signature'], `v1,${signature}`);
    t.match(JSON.parse(body), { type: 'order.created', test: true, data: { order_id: /./ } });
    ids.add(id);
  }
  t.equal(ids.size, 1);
  await until(() => /503, again in[\s\S]*204/.test(listening.stdout()), 5000);
});

t.test('a wrong type names the nearest', async (t) => {
  const { status, stdout, stderr } = await cli.run(['trigger', 'order.creatd']);
  t.match({ status, stdout, stderr }, { status: 1, stdout: '', stderr: /order\.created/ });
});

t.test('events go on after the connection has broken', async (t) => {
  const before = deliveries.length;
  await gatehouse.end('SIGKILL');
  await until(() => /Connecting again/.test(listening.stderr()), 20_000);
  await startGatehouse(t, dataDir, { PORT: String(gatehouse.port) });
  t.match(await cli.run(['trigger', 'order.created']), { status: 0 });
  await until(() => deliveries.length > before, 40_000);
  t.equal(deliveries.length, before + 1);
  t.match(await listening.end(), { stderr: /^(?!.*whsec_)/s });
});
