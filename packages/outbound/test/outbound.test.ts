import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { continueTrace, during } from '@gatehouse/core/tracing';
import { VERSION } from '@gatehouse/core/version';
import { countConnections, listen } from '@gatehouse/testing/listen';
import { recordTraces, SPAN_KINDS } from '@gatehouse/testing/otlp-receiver';
import { until } from '@gatehouse/testing/processes';
import t, { type Test } from 'tap';
import { createOutbound } from '../src/outbound.ts';

const MIB = 1024 * 1024;

/** A server that tells how many connections it has had, and has. */
async function serve(t: Test, listener: RequestListener) {
  const server = createServer(listener);
  const seen = countConnections(server);
  return { url: `http://127.0.0.1:${await listen(t, server)}`, seen };
}

const local = { to: 'public', networks: ['127.0.0.1'] } as const;

t.test('requests and responses', async (t) => {
  const { url } = await serve(t, async (request, response) => {
    const { method, url, headers } = request;
    const received = { method, url, type: headers['content-type'], agent: headers['user-agent'] };
    response.writeHead(207, { 'set-cookie': ['a=1', 'b=2'], etag: '"1"' });
    response.end(JSON.stringify({ ...received, body: await text(request) }));
  });
  const outbound = createOutbound({ to: 'configured' });
  const reply = await outbound.fetch(`${url}/a?b=c#d`, {
    method: 'POST',
    body: new URLSearchParams({ x: 'é' }),
  });
  t.equal(reply.status, 207);
  t.same(reply.headers.getSetCookie(), ['a=1', 'b=2']);
  const type = 'application/x-www-form-urlencoded;charset=UTF-8';
  t.match(await reply.json(), {
    ...{ method: 'POST', url: '/a?b=c', type, body: 'x=%C3%A9' },
    agent: `Gatehouse/${VERSION}`,
  });
  const headers = new Headers({ 'content-type': 'a/b', 'user-agent': 'me' });
  const other = await outbound.fetch(new URL(url), { method: 'PUT', headers, body: Buffer.from('bytes') });
  t.match(await other.json(), { method: 'PUT', url: '/', type: 'a/b', agent: 'me', body: 'bytes' });
  const { status, body } = await outbound.read(url, { method: 'POST', body: 'text' });
  t.equal(status, 207);
  t.match(JSON.parse(body.toString()), { method: 'POST', body: 'text' });
});

t.test('connections are kept for what the operator configures, and for nothing else', async (t) => {
  const { url, seen } = await serve(t, (request, response) =>
    response.writeHead(request.url === '/204' ? 204 : 200).end(),
  );
  const paths = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? '/' : '/204'));
  const kept = createOutbound({ to: 'configured' });
  for (const path of paths) await (await kept.fetch(url + path)).text();
  // A response can end a moment before its connection is free.
  t.ok(seen.connections <= 2, String(seen.connections));
  const before = seen.connections;
  const single = createOutbound(local);
  for (const path of paths) await (await single.fetch(url + path)).text();
  t.equal(seen.connections - before, 20);
});

t.test('a redirect is returned, and a body is as it was sent', async (t) => {
  const { url, seen } = await serve(t, (request, response) => {
    if (request.url === '/') response.writeHead(302, { location: '/elsewhere' }).end();
    else response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(16 * MIB)));
  });
  const outbound = createOutbound(local);
  const moved = await outbound.fetch(url);
  t.same([moved.status, moved.headers.get('location'), await moved.text()], [302, '/elsewhere', '']);
  t.ok((await (await outbound.fetch(`${url}/zeros`)).bytes()).length < MIB, 'it does not unfold');
  t.equal(seen.connections, 2);
});

t.test('a body that goes on for ever is broken off, and costs no memory', async (t) => {
  let written = 0;
  const chunk = Buffer.alloc(65_536);
  const { url, seen } = await serve(t, (_request, response) => {
    const write = () => {
      while (!response.destroyed && response.write(chunk)) written += chunk.length;
    };
    response.on('drain', write);
    write();
  });
  for (const to of [local, { to: 'configured' } as const]) {
    const outbound = createOutbound({ ...to, maxBytes: 100_000 });
    const before = process.memoryUsage().rss;
    for (let i = 0; i < 20; i += 1) {
      const reply = await outbound.fetch(url);
      t.equal(reply.status, 200);
      await t.rejects(reply.text(), { name: 'BodyTooLargeError' });
      await t.rejects(outbound.read(url), { name: 'BodyTooLargeError' });
    }
    await until(() => seen.open === 0, 2000);
    t.ok(process.memoryUsage().rss - before < 64 * MIB);
  }
  // A body that is not wanted.
  await (await createOutbound(local).fetch(url)).body?.cancel();
  await until(() => seen.open === 0, 2000);
  // A body that nobody reads.
  await createOutbound({ ...local, timeoutMs: 300 }).fetch(url);
  await until(() => seen.open === 0, 2000);
  const all = written;
  await sleep(100);
  t.equal(written, all, 'nothing goes on');
});

t.test('time is bounded as a whole: connecting, the head and a body that trickles', async (t) => {
  const { url, seen } = await serve(t, (request, response) => {
    if (request.url === '/silent') return;
    response.writeHead(200);
    const trickle = setInterval(() => response.write('x'), 20);
    response.once('close', () => clearInterval(trickle));
  });
  // Its queue of connections is full, so that another one is not answered.
  const full = createTcpServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 });
  await once(full, 'listening');
  t.teardown(() => full.close());
  const outbound = createOutbound({ ...local, timeoutMs: 300 });
  const began = performance.now();
  await t.rejects(outbound.fetch(`${url}/silent`), { name: 'TimeoutError' });
  await t.rejects((await outbound.fetch(url)).text(), { name: 'TimeoutError' });
  await t.rejects(outbound.read(url), { name: 'TimeoutError' });
  const tls = `https://127.0.0.1:${(full.address() as AddressInfo).port}/`;
  await t.rejects(outbound.fetch(tls), { name: 'TimeoutError' });
  t.ok(performance.now() - began < 2500);

  const reason = new Error('not wanted any more');
  const aborted = outbound.fetch(`${url}/silent`, { signal: AbortSignal.abort(reason) });
  await t.rejects(aborted, { message: reason.message });
  const controller = new AbortController();
  const reply = await outbound.fetch(url, { signal: controller.signal });
  controller.abort(reason);
  await t.rejects(reply.text(), { message: reason.message });
  await until(() => seen.open === 0, 2000);
});

t.test('an answer that is none', async (t) => {
  const responses = ['HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n', 'nonsense\r\n\r\n', ''];
  for (const reply of responses) {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {}).once('data', () => socket.end(reply));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await t.rejects(createOutbound(local).fetch(`http://127.0.0.1:${port}/`), Error, reply);
    await new Promise((done) => server.close(done));
  }
  for (const url of ['ftp://a.example/', 'file:///etc/passwd', 'data:,x', 'nothing']) {
    await t.rejects(createOutbound({ to: 'configured' }).fetch(url), Error, url);
  }
});

t.test('only the services of this deployment get the trace context', async (t) => {
  const traces = await recordTraces(t);
  const { url } = await serve(t, (request, response) => response.end(request.headers.traceparent ?? 'none'));
  const heard = (options: Parameters<typeof createOutbound>[0]) => async () =>
    (await createOutbound(options).fetch(`${url}/secret?secret`)).text();
  const inTrace = (work: () => Promise<string>) =>
    during(continueTrace(undefined, 'request', { kind: 'server' }), work);
  const told = await inTrace(heard({ to: 'services' }));
  for (const options of [{ to: 'configured' }, local] as const)
    t.equal(await inTrace(heard(options)), 'none');
  t.equal(await heard({ to: 'services' })(), 'none', 'outside of a trace');
  await t.rejects(inTrace(() => createOutbound({ to: 'public' }).fetch(url).then(String)));
  await traces.send();
  const clients = traces.spans().filter(({ kind }) => kind === SPAN_KINDS.client);
  t.ok(told.includes(clients[0]?.spanId ?? '-'), 'the span of the request is the parent');
  const attributes = { 'http.request.method': 'GET', 'server.address': '127.0.0.1' };
  const responded = { name: 'GET', attributes: { ...attributes, 'http.response.status_code': 200 } };
  const refused = { failed: true, attributes: { ...attributes, 'error.type': 'AddressRefusedError' } };
  t.match(clients, [responded, responded, responded, refused]);
  t.notMatch(traces.received(), 'secret');
});
