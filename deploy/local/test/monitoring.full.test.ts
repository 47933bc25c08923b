import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { connect, createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { listen } from '@gatehouse/testing/listen';
import { natsServer, startNats } from '@gatehouse/testing/nats-server';
import { freePort, until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { testMongoUri } from '@gatehouse/testing/test-mongo';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { caddySkip, installed, startCaddy, started } from './edges.ts';
import { temporaryDir } from './gatehouse.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const FOLDER = join(ROOT, 'deploy/observability');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const { services } = parse(read('docker-compose.yml'), { merge: true, maxAliasCount: -1 });

type Rules = { groups: { rules: { expr: string }[] }[] };
const { groups } = parse(read('deploy/observability/dependencies.yml')) as Rules;
/** The series that its alerts read, such as `up{job="nats"}`. */
const series = groups
  .flatMap(({ rules }) => rules)
  .flatMap(({ expr }) => expr.match(/\bup\{[^}]*\}|\b[a-z]+_\w+(?:\{[^}]*\})?/g) ?? [])
  .filter((selector) => selector !== 'max_over_time');

async function start(t: Test, program: string, args: string[], port: number, env = {}): Promise<void> {
  await started(t, spawn(program, args, { env: { ...process.env, ...env } }), port);
}

/** The URI of a MongoDB by TCP, since the exporter connects to no sockets of a file system. */
async function tcpUri(t: Test, uri: string): Promise<string> {
  const [, host = ''] = /\/\/([^/?]+)/.exec(uri) ?? [];
  if (!host.includes('%2F')) return uri;
  const relay = createServer((client) => {
    const server = connect(decodeURIComponent(host)).on('error', () => client.destroy());
    client
      .on('error', () => server.destroy())
      .pipe(server)
      .pipe(client);
  });
  return `mongodb://127.0.0.1:${await listen(t, relay)}/admin`;
}

/** An exporter: its programs, the metrics of it, and how to start it as docker-compose.yml does. */
type Exporter = {
  programs: string[];
  metrics: RegExp;
  run(t: Test, program: string, port: number): Promise<void>;
};

const EXPORTERS: Record<string, Exporter> = {
  'blackbox-exporter:9115': {
    programs: ['blackbox_exporter', 'prometheus-blackbox-exporter'],
    metrics: /^probe_/,
    run: (t, program, port) =>
      start(
        t,
        program,
        [`--config.file=${FOLDER}/blackbox.yml`, `--web.listen-address=127.0.0.1:${port}`],
        port,
      ),
  },
  'mongodb-exporter:9216': {
    programs: ['mongodb_exporter'],
    metrics: /^mongodb_/,
    async run(t, program, port) {
      const args = [...services['mongodb-exporter'].command, `--web.listen-address=127.0.0.1:${port}`];
      const database = await startTestDatabase(t);
      await database.connection.createCollection('measured');
      await start(t, program, args, port, { MONGODB_URI: await tcpUri(t, await testMongoUri(t)) });
    },
  },
  'nats-exporter:7777': {
    programs: natsServer ? ['prometheus-nats-exporter'] : [],
    metrics: /^gnatsd_/,
    async run(t, program, port) {
      const monitor = await freePort();
      await startNats(t, '--jetstream', '--store_dir', temporaryDir(t), '--http_port', `${monitor}`);
      const flags = services['nats-exporter'].command
        .replace(/\$\{.*/, `http://127.0.0.1:${monitor}`)
        .split(' ');
      await start(t, program, ['-a', '127.0.0.1', '-p', `${port}`, ...flags], port);
    },
  },
};

const prometheus = installed('prometheus');
const skip = (!prometheus && 'prometheus is not there') || caddySkip;

t.test('Prometheus collects every series that alerts on dependencies read', { skip }, async (t) => {
  const edge = await startCaddy(t, []);
  // No service is there. The certificate may not be, either.
  const requested = async () => {
    const [response] = await once(get(`${edge.base}/api/v1/users`, { ca: edge.ca }), 'response');
    response.resume();
    return response.statusCode === 503;
  };
  await until(() => requested().catch(() => false), 20_000);
  let config = read('deploy/observability/prometheus.yml')
    .replaceAll('caddy:2020', `127.0.0.1:${edge.metricsPort}`)
    .replace('https://caddy$1', 'https://127.0.0.1$1')
    // mongodb_exporter takes a second less than Prometheus waits.
    .replaceAll(/scrape_interval: \w+/g, 'scrape_interval: 3s');
  let known = series;
  for (const [address, { programs, metrics, run }] of Object.entries(EXPORTERS)) {
    const program = programs.map(installed).find((it) => it !== undefined);
    if (program === undefined) {
      t.comment(`${address} has no program here: ${metrics} is not looked at`);
      known = known.filter((selector) => !metrics.test(selector));
      continue;
    }
    const port = await freePort();
    await run(t, program, port);
    config = config.replace(address, `127.0.0.1:${port}`);
  }
  const [folder, port] = [temporaryDir(t), await freePort()];
  writeFileSync(join(folder, 'prometheus.yml'), config.replace('rules.yml, dependencies.yml', ''));
  const args = [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`];
  await start(t, `${prometheus}`, [...args, `--web.listen-address=127.0.0.1:${port}`], port);
  const count = async (selector: string) => {
    const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(`count(${selector})`)}`;
    const { data } = (await (await fetch(url)).json()) as { data?: { result: unknown[] } };
    return data?.result.length ?? 0;
  };
  t.ok(known.length > 3);
  const working = ['probe_success == 1', 'mongodb_up == 1', 'gnatsd_healthz_status_value == 1'].filter((it) =>
    known.some((selector) => it.startsWith(selector.replace(/\{.*/, ''))),
  );
  for (const selector of [...known, 'up{job="caddy"} == 1', ...working]) {
    await until(async () => (await count(selector)) > 0, 20_000).catch(() => t.fail(`no series ${selector}`));
  }
});
