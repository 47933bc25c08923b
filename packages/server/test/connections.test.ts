import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionLimits } from '@gatehouse/server/connections';
import type { Service } from '@gatehouse/server/service';
import { runServices, service } from '@gatehouse/testing/run-services';
import t, { type Test } from 'tap';

const LIMITS: ConnectionLimits = {
  headersTimeoutSeconds: 0.3,
  requestTimeoutSeconds: 0.6,
  responseTimeoutSeconds: 2,
  maxConnections: 1000,
};
/** The longest that a connection may live by the limits above, in ms, with time for a busy machine. */
const SOON = 8000;

let waiting = 0;
/** What each path does with its request. */
const BEHAVIOUR: Record<string, Service['handle']> = {
  '/a/reads': (request, response) => {
    request.on('end', () => response.end('read')).resume();
  },
  '/a/refuses': (_request, response) => void response.writeHead(401).end(),
  '/a/waits': () => {
    waiting += 1;
  },
  '/a/writes': (_request, response) => void response.end(Buffer.alloc(50_000_000)),
};

const PATIENT = { headersTimeoutSeconds: 60, requestTimeoutSeconds: 60, responseTimeoutSeconds: 60 };

async function serve(t: Test, limits: Partial<ConnectionLimits> = {}): Promise<number> {
  const a = service('a', {
    handle: (request, response) => BEHAVIOUR[request.url ?? '']?.(request, response),
  });
  return (await runServices(t, [a], { ...LIMITS, ...limits })).port;
}

/** A client; one that allows half-open connections does not close its side when the server does. */
async function open(t: Test, port: number, allowHalfOpen = false): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen });
  socket.on('error', () => {});
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** Sends `text` again and again until the connection is gone; returns what came back. */
async function dribble(socket: Socket, head: string, text: string): Promise<string> {
  let received = '';
  socket.setEncoding('latin1').on('data', (part: string) => {
    received += part;
  });
  socket.write(head);
  while (!socket.destroyed) {
    // When only the server's side has been closed, a byte shows whether the connection is still there.
    socket.write(socket.readableEnded ? 'x' : text);
    await sleep(20);
  }
  return received;
}

const HOST = '\r\nhost: x\r\n';
const SLOW: [label: string, head: string, text: string, respond: RegExp][] = [
  ['nothing', '', '', /^HTTP\/1\.1 408 /],
  ['a slow request line', 'GET /a', 'x', /^HTTP\/1\.1 408 /],
  ['slow headers', `GET /a/reads HTTP/1.1${HOST}`, 'x: y\r\n', /^HTTP\/1\.1 408 /],
  ['a slow body', `POST /a/reads HTTP/1.1${HOST}content-length: 100000\r\n\r\n`, 'x', /^HTTP\/1\.1 408 /],
  [
    'a slow body in chunks',
    `POST /a/reads HTTP/1.1${HOST}transfer-encoding: chunked\r\n\r\n`,
    '1\r\nx\r\n',
    /^HTTP\/1\.1 408 /,
  ],
  [
    'a slow body that nobody reads',
    `POST /a/refuses HTTP/1.1${HOST}content-length: 100000\r\n\r\n`,
    'x',
    /^HTTP\/1\.1 401 /,
  ],
  ['a slow handler', `GET /a/waits HTTP/1.1${HOST}\r\n`, '', /^$/],
  [
    'slow headers after an answer',
    `GET /health/live HTTP/1.1${HOST}\r\nGET /a HTTP/1.1${HOST}`,
    'x: y\r\n',
    / 200 .* 408 /s,
  ],
  ['no end after an error response', 'hello\r\n\r\n', '', /^HTTP\/1\.1 400 /],
];

t.test('slow requests end, and so do their connections', async (t) => {
  const port = await serve(t);
  await Promise.all(
    SLOW.map(async ([label, head, text, respond]) => {
      const begin = performance.now();
      const received = await dribble(await open(t, port, true), head, text);
      t.ok(performance.now() - begin < SOON, label);
      t.match(received, respond, label);
    }),
  );
});

t.test('an answer that is not taken ends', async (t) => {
  const port = await serve(t, { responseTimeoutSeconds: 0.5 });
  const socket = await open(t, port);
  socket.pause().write(`GET /a/writes HTTP/1.1${HOST}\r\n`);
  // The server looks once a second.
  await sleep(2000);
  let bytes = 0;
  socket.on('data', (part) => {
    bytes += part.length;
  });
  await once(socket.resume(), 'close');
  t.ok(bytes < 50_000_000, `${bytes} bytes`);
});

t.test('a full server closes connections without a request for new ones', async (t) => {
  const port = await serve(t, { ...PATIENT, maxConnections: 10 });
  const ask = async (path: string) => {
    const socket = await open(t, port);
    socket.write(`GET ${path} HTTP/1.1${HOST}\r\n`);
    const [part] = await once(socket, 'data');
    return String(part).slice(9, 12);
  };
  const busy = await open(t, port);
  busy.write(`GET /a/waits HTTP/1.1${HOST}\r\n`);
  const idle = await Promise.all(Array.from({ length: 9 }, () => open(t, port)));
  idle[0]?.write('GET /a HT');
  for (let i = 0; i < 30; i += 1) t.equal(await ask('/health/live'), '200');
  await Promise.all(Array.from({ length: 50 }, () => open(t, port)));
  t.equal(await ask('/health/live'), '200', 'also when many come at once');
  for (const socket of idle) if (!socket.closed) await once(socket.resume(), 'close');
  t.equal(busy.closed, false, 'one with a request is kept');

  const before = waiting;
  const more = await Promise.all(Array.from({ length: 9 }, () => open(t, port)));
  for (const socket of more) socket.write(`GET /a/waits HTTP/1.1${HOST}\r\n`);
  while (waiting < before + more.length) await sleep(5);
  const refused = await open(t, port);
  refused.write(`GET /health/live HTTP/1.1${HOST}\r\n`);
  await once(refused.resume(), 'close');
  t.strictSame(
    [busy, ...more].filter(({ closed }) => closed),
    [],
    'and beyond those nobody is let in',
  );
});

t.test('a server that is full of slow requests closes them for new connections', async (t) => {
  const port = await serve(t, { ...PATIENT, maxConnections: 10 });
  const busy = await open(t, port);
  busy.write(`GET /a/waits HTTP/1.1${HOST}\r\n`);
  const slow = [];
  for (let i = 0; i < 9; i += 1) {
    const socket = (await open(t, port)).resume();
    socket.write(`POST /a/reads HTTP/1.1${HOST}content-length: 100000\r\n\r\nx`);
    slow.push(socket);
  }
  await sleep(1500);
  const quick = await open(t, port);
  await open(t, port);
  quick.write(`GET /health/live HTTP/1.1${HOST}\r\n`);
  const [part] = await Promise.race([once(quick, 'data'), once(quick, 'close')]);
  t.match(String(part), /^HTTP\/1\.1 200 /, 'also when another comes before its request');
  t.strictSame(
    slow.map(({ closed }) => closed),
    [true, true, ...Array(7).fill(false)],
    'those that have been arriving for longest',
  );
  t.equal(busy.closed, false, 'one whose request has arrived is kept');
});

t.test('the one that has been silent for longest makes room, whatever was found a moment ago', async (t) => {
  const port = await serve(t, { ...PATIENT, maxConnections: 5 });
  const sockets: Socket[] = [];
  const add = async () => void sockets.push((await open(t, port)).resume());
  const closed = () => sockets.flatMap((socket, i) => (socket.closed ? [i] : []));
  for (let i = 0; i < 6; i += 1) await add();
  while (closed().length < 1) await sleep(5);
  const [, responded, busy] = sockets;
  responded?.write(`GET /health/live HTTP/1.1${HOST}\r\n`);
  if (responded) await once(responded, 'data');
  const before = waiting;
  busy?.write(`GET /a/waits HTTP/1.1${HOST}\r\n`);
  while (waiting === before) await sleep(5);
  for (let i = 0; i < 3; i += 1) await add();
  while (closed().length < 4) await sleep(5);
  t.strictSame(closed(), [0, 3, 4, 5]);
});
