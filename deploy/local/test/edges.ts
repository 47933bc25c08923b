import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, until } from '@gatehouse/testing/processes';
import { temporaryDir } from './gatehouse.ts';

type Teardown = { teardown(action: () => unknown): void };
/** A process of a service, which may be down. */
export type Replica = {
  name: string;
  host: string;
  port: string;
  isRunning(): boolean;
  isReady(): Promise<boolean>;
};

const CADDYFILE = resolve(import.meta.dirname, '../../docker/Caddyfile');

/** The path of a program on the PATH, or where `go install` puts it. */
export function installed(program: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), join(homedir(), 'go/bin'), '/usr/sbin'];
  return folders.map((folder) => join(folder, program)).find(existsSync);
}

const caddy = installed('caddy');
const nginx = installed('nginx');
export const caddySkip =
  !caddy && 'there is no Caddy on this machine (go install github.com/caddyserver/caddy/v2/cmd/caddy)';
export const nginxSkip = !nginx && 'there is no nginx on this machine';

/** Waits until the program accepts connections at the port; throws with what it printed when it ends instead. */
export async function started(t: Teardown, child: ChildProcess, port: number): Promise<void> {
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => (output = `${output}${chunk}`.slice(-5000)));
  t.teardown(async () => {
    if (child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const accepts = () =>
    new Promise<boolean>((resolve) => {
      if (child.exitCode !== null) throw new Error(output);
      const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
      socket.on('connect', () => socket.destroy());
    });
  await until(accepts, 20_000);
}

/** Caddy with the Caddyfile of the compose file, where the names of services are those of their running replicas. */
export async function startCaddy(
  t: Teardown,
  replicas: readonly Replica[],
): Promise<{ base: string; ca: Buffer; metricsPort: number }> {
  const [folder, names, http, https, metricsPort] = [
    temporaryDir(t),
    await startNames(t, replicas),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const config = readFileSync(CADDYFILE, 'utf8').replace(
    /^(\s*)port 3000$/m,
    `$1port ${replicas[0]?.port ?? 3000}$1resolvers ${names}`,
  );
  const base = `https://localhost:${https}`;
  writeFileSync(join(folder, 'Caddyfile'), config);
  const env = {
    PUBLIC_URL: base,
    HTTP_PORT: `${http}`,
    HTTPS_PORT: `${https}`,
    METRICS_PORT: `${metricsPort}`,
    XDG_DATA_HOME: folder,
    XDG_CONFIG_HOME: folder,
  };
  const args = ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'];
  await started(t, spawn(caddy ?? 'caddy', args, { env: { ...process.env, ...env } }), https);
  const root = join(folder, 'caddy/pki/authorities/local/root.crt');
  await until(() => existsSync(root), 10_000);
  return { base, ca: readFileSync(root), metricsPort };
}

/** As the DNS of Docker: a name has the addresses of all containers that run, ready or not. Returns its address. */
async function startNames(t: Teardown, replicas: readonly Replica[]): Promise<string> {
  const server = createSocket('udp4');
  server.on('message', (query: Buffer, { port, address }: RemoteInfo) => {
    let end = 12;
    while (query[end] !== 0) end += (query[end] ?? 0) + 1;
    const name = query.toString('latin1', 13, 13 + (query[12] ?? 0));
    const isA = query.readUInt16BE(end + 1) === 1;
    const found = replicas.filter((replica) => isA && replica.name === name && replica.isRunning());
    const header = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, found.length, 0, 0, 0, 0]);
    const records = found.map(({ host }) =>
      // The name is that of the question; type A, class IN, for ten minutes (RFC 1035 §4.1.3).
      Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 2, 88, 0, 4, ...host.split('.').map(Number)]),
    );
    server.send(Buffer.concat([header, query.subarray(12, end + 5), ...records]), port, address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `127.0.0.1:${server.address().port}`;
}

/** nginx as docs/guides/production.md says. */
export async function startNginx(t: Teardown, replicas: readonly Replica[]): Promise<string> {
  const [folder, port] = [temporaryDir(t), await freePort()];
  const upstream = (name: string) =>
    `upstream ${name} { ${replicas
      .filter((replica) => replica.name === name)
      .map(({ host, port }) => `server ${host}:${port} max_fails=0;`)
      .join(' ')} keepalive 32; keepalive_timeout 4s; }`;
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (it) => `${it}_temp_path ${folder}/${it};`,
  );
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; pid ${folder}/pid; error_log stderr; events {}
    http {
      access_log off; ${paths.join(' ')} ${upstream('identity')} ${upstream('users')}
      server {
        listen 127.0.0.1:${port};
        proxy_http_version 1.1; proxy_set_header Connection "";
        proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto https;
        location / { proxy_pass http://users; }
        location ~ ^/(oauth|\\.well-known)/ { proxy_pass http://identity; }
      }
    }`,
  );
  await started(
    t,
    spawn(nginx ?? 'nginx', ['-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf')]),
    port,
  );
  return `http://127.0.0.1:${port}`;
}

const PROBE_MS = 500;

/**
 * As a Service of Kubernetes: a new connection goes to one of the replicas that were ready at the last probe, and stays there.
 * Returns its URL.
 */
export async function startService(t: Teardown, name: string, replicas: readonly Replica[]): Promise<string> {
  let ready: Replica[] = [];
  let next = 0;
  const server = createServer({ allowHalfOpen: true }, (client: Socket) => {
    const replica = ready[next++ % ready.length];
    if (replica === undefined) return void client.resetAndDestroy();
    const upstream = connect({ port: Number(replica.port), host: replica.host, allowHalfOpen: true });
    client.on('error', () => upstream.destroy()).pipe(upstream);
    upstream.on('error', () => client.resetAndDestroy()).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = new AbortController();
  async function probe(): Promise<void> {
    while (!stop.signal.aborted) {
      const own = replicas.filter((replica) => replica.name === name);
      const states = await Promise.all(own.map((replica) => replica.isReady()));
      ready = own.filter((_, i) => states[i]);
      await sleep(PROBE_MS, undefined, { signal: stop.signal }).catch(() => {});
    }
  }
  const probing = probe();
  t.teardown(async () => {
    stop.abort();
    await probing;
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
