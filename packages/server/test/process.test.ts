import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type ClientRequest, request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';

const MAIN = join(import.meta.dirname, 'fixtures/service-main.ts');
// A new object each: tap writes into it.
const parallel = () => ({ buffered: true });
t.jobs = 2;

type Line = Record<string, unknown>;

class Started {
  readonly child: ChildProcess;
  readonly port: number;
  readonly managementPort: number;
  /** Of its standard output, as they come. */
  readonly lines: Line[] = [];
  readonly exit: Promise<number | null>;
  readonly errors: Promise<string>;

  constructor(child: ChildProcess, port: number, managementPort: number) {
    this.child = child;
    this.port = port;
    this.managementPort = managementPort;
    this.exit = once(child, 'close').then(([code]) => code);
    this.errors = child.stderr ? text(child.stderr) : Promise.resolve('');
    let rest = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      const parts = (rest + chunk).split('\n');
      rest = parts.pop() ?? '';
      for (const part of parts) this.lines.push(JSON.parse(part));
    });
  }

  /** The first line with this message. */
  async line(message: string): Promise<Line> {
    const giveUpAt = performance.now() + 20_000;
    while (performance.now() < giveUpAt) {
      const found = this.lines.find(({ msg }) => msg === message);
      if (found !== undefined) return found;
      await sleep(5);
    }
    throw new Error(`there was no "${message}" in ${JSON.stringify(this.lines)}`);
  }

  messages(): unknown[] {
    return this.lines.map(({ msg }) => msg);
  }

  /** Sends the head of a request and waits until it is being answered; its body is still to come. */
  async beginRequest(): Promise<{ outgoing: ClientRequest; respond: Promise<string> }> {
    const outgoing = request({
      port: this.port,
      host: '127.0.0.1',
      path: '/fixture',
      method: 'POST',
      agent: false,
    });
    outgoing.flushHeaders();
    const [response] = await once(outgoing, 'response');
    return { outgoing, respond: text(response) };
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

async function start(t: Test, env: NodeJS.ProcessEnv = {}): Promise<Started> {
  const [port, managementPort] = [await freePort(), await freePort()];
  const settings = {
    PORT: String(port),
    MANAGEMENT_PORT: String(managementPort),
    HOST: '127.0.0.1',
    PUBLIC_URL: 'https://id.example.com',
    // The requests below come from inside the trusted network.
    TRUSTED_PROXIES: '127.0.0.1',
    SHUTDOWN_DELAY_SECONDS: '0',
    DRAIN_SECONDS: '60',
  };
  const child = spawn(process.execPath, [MAIN], {
    env: { ...settings, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  return new Started(child, port, managementPort);
}

t.test('wrong settings: a sentence for each, and status 1', parallel(), async (t) => {
  const started = await start(t, { PORT: '70000', PUBLIC_URL: '', LOG_LEVEL: 'loud' });
  t.equal(await started.exit, 1);
  t.equal(
    await started.errors,
    'The setting PORT must be a whole number from 1 to 65535.\n' +
      'The setting PUBLIC_URL is required.\n' +
      'The setting LOG_LEVEL must be one of debug, info, warn, error.\n',
  );
  t.strictSame(started.lines, []);
});

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  t.test(`${signal}: status 0`, parallel(), async (t) => {
    const started = await start(t);
    t.match(await started.line('starting'), { management_port: started.managementPort });
    t.match(await started.line('listening'), { level: 'info', name: 'fixture', port: started.port });
    started.child.kill(signal);
    t.equal(await started.exit, 0);
    t.match(await started.line('stopping'), { signal });
    t.strictSame(started.messages(), ['starting', 'listening', 'stopping']);
  });
}

t.test('SIGTERM: requests are served for a while, although it is not ready', parallel(), async (t) => {
  const started = await start(t, { SHUTDOWN_DELAY_SECONDS: '1' });
  await started.line('listening');
  started.child.kill('SIGTERM');
  await started.line('stopping');
  const url = `http://127.0.0.1:${started.port}`;
  t.equal((await fetch(`http://127.0.0.1:${started.managementPort}/health/ready`)).status, 503);
  t.equal((await fetch(`${url}/fixture`, { headers: { connection: 'close' } })).status, 200);
  t.equal(await started.exit, 0);
});

t.test('SIGTERM while the service still waits to start: status 0', parallel(), async (t) => {
  const started = await start(t, { START: 'waits' });
  await started.line('starting');
  started.child.kill('SIGTERM');
  t.equal(await started.exit, 0);
  t.strictSame(started.messages(), ['starting', 'stopping'], 'it is not said that it cannot start');
});

t.test('SIGINT twice at once, as from a terminal: requests in flight end well', parallel(), async (t) => {
  const started = await start(t);
  await started.line('listening');
  const { outgoing, respond } = await started.beginRequest();
  started.child.kill('SIGINT');
  await started.line('stopping');
  started.child.kill('SIGINT');
  outgoing.end('ended');
  t.equal(await respond, 'begun,ended');
  t.equal(await started.exit, 0);
  t.strictSame(started.messages(), ['starting', 'listening', 'stopping', 'request']);
});

t.test('a second SIGINT a second later ends it whatever is in flight', parallel(), async (t) => {
  const started = await start(t);
  await started.line('listening');
  const { respond } = await started.beginRequest();
  const lost = t.rejects(respond, { code: 'ECONNRESET' });
  started.child.kill('SIGINT');
  await started.line('stopping');
  const begin = performance.now();
  const again = setInterval(() => started.child.kill('SIGINT'), 50);
  t.equal(await started.exit, 1);
  clearInterval(again);
  t.ok(performance.now() - begin > 500, 'not before');
  await lost;
});

t.test('a service that never can start: status 1, and why', parallel(), async (t) => {
  const started = await start(t, { START: 'fails' });
  t.equal(await started.exit, 1);
  t.match(await started.line('cannot start'), {
    level: 'fatal',
    err: { message: 'a secret: password=[redacted]' },
  });
});

t.test('a port that cannot be had: status 1, and why', parallel(), async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const started = await start(t, { PORT: String(port) });
  t.equal(await started.exit, 1);
  t.match(await started.line('cannot start'), { level: 'fatal', err: { code: 'EADDRINUSE' } });
});

t.test('a fault that nobody caught: status 1, and the last line says which', parallel(), async (t) => {
  const started = await start(t);
  await started.line('listening');
  const outgoing = request({ port: started.port, host: '127.0.0.1', path: '/fixture/fault', agent: false });
  outgoing.end();
  await t.rejects(once(outgoing, 'response'), { code: 'ECONNRESET' });
  t.equal(await started.exit, 1);
  t.match(started.lines.at(-1), { level: 'fatal', msg: 'fault', err: { message: 'a fault' } });
});

t.test('plain HTTP is refused', parallel(), async (t) => {
  const started = await start(t, { TRUSTED_PROXIES: '' });
  await started.line('listening');
  const response = await fetch(`http://127.0.0.1:${started.port}/fixture`);
  t.equal(response.status, 403);
  t.match(await response.json(), { error: { code: 'https_required' } });
});
