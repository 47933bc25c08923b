import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SERVICE_NAMES, type ServiceName } from '@gatehouse/core/services';
import t, { type Test } from 'tap';
import type { ServiceUrls } from '../../src/api/api.ts';
import { createApiDescription } from '../../src/docs/openapi/source.ts';

/** Services that publish a document of one path each, by ETag, as long as they are up. */
async function publish(t: Test) {
  const down = new Set<string>();
  const requests: string[] = [];
  let version = 1;
  const server: Server = createServer((request, response) => {
    const service = /^\/openapi\/(\w+)\.json$/.exec(request.url ?? '')?.[1] ?? '';
    const etag = `"${version}"`;
    const isKnown = request.headers['if-none-match'] === etag;
    requests.push(`${service} ${isKnown ? 304 : 200}`);
    if (down.has(service)) return void response.writeHead(503).end('{}');
    response.writeHead(isKnown ? 304 : 200, { etag, 'content-type': 'application/json' });
    const operation = { operationId: service, summary: 'Read', tags: [service], responses: {} };
    const paths = { [`/${service}/v${version}`]: { get: operation } };
    const info = { title: service, version: '1' };
    response.end(isKnown ? '' : JSON.stringify({ openapi: '3.1.1', info, tags: [], paths }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const serviceUrls = Object.fromEntries(SERVICE_NAMES.map((name: ServiceName) => [name, base]));
  return {
    down,
    requests,
    describe: createApiDescription({ serviceUrls: serviceUrls as ServiceUrls, publicUrl: base }),
    change: () => {
      version += 1;
    },
  };
}

const SERVICES = ['identity', 'users', 'items', 'commerce', 'notifications'];

t.test('the documents are read once, by however many ask, and again by their ETag', async (t) => {
  const clock = t.intercept(performance, 'now', { value: () => now });
  t.teardown(() => clock.restore());
  let now = 1e6;
  const { describe, requests, change, down } = await publish(t);
  const [first, same] = await Promise.all([describe(), describe()]);
  t.equal(first, same);
  t.same(first.missing, []);
  t.same(
    Object.keys(first.document.paths),
    SERVICES.map((name) => `/${name}/v1`),
  );
  t.equal(await describe(), first);
  t.equal(requests.length, SERVICES.length);

  now += 60_000;
  t.equal(await describe(), first, 'nothing has changed');
  t.same(requests.slice(SERVICES.length).sort(), SERVICES.map((name) => `${name} 304`).sort());

  change();
  down.add('users');
  now += 60_000;
  const second = await describe();
  t.not(second.etag, first.etag);
  t.same(second.missing, [], 'a service that is away keeps what it had');
  t.same(
    Object.keys(second.document.paths),
    SERVICES.map((name) => `/${name}/v${name === 'users' ? 1 : 2}`),
  );
  down.clear();
  now += 2000;
  t.match(Object.keys((await describe()).document.paths), ['/identity/v2', '/users/v2'], 'until it is back');
});

t.test('an unavailable document is missing, by name, and is tried again soon', async (t) => {
  const clock = t.intercept(performance, 'now', { value: () => now });
  t.teardown(() => clock.restore());
  let now = 1e6;
  const { describe, down } = await publish(t);
  down.add('commerce').add('items');
  const { missing, document } = await describe();
  t.same(missing, ['items', 'commerce']);
  t.equal(Object.keys(document.paths).length, SERVICES.length - 2);
  down.clear();
  t.same((await describe()).missing, ['items', 'commerce']);
  now += 2000;
  t.same((await describe()).missing, []);
});
