import { readFileSync } from 'node:fs';
import { newId } from '@gatehouse/core/ids';
import { skip, startJetStream } from '@gatehouse/testing/nats-server';
import { freePort, spawnService, until } from '@gatehouse/testing/processes';
import { atScale } from '@gatehouse/testing/repetitions';
import { createTestIssuer } from '@gatehouse/testing/test-issuer';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import mongoose from 'mongoose';
import t from 'tap';
import type { ReportBody } from './service.ts';

const ROWS = atScale(1_000_000);
const BATCH = 10_000;
/** Enough that a report of them is not complete before its worker is killed. */
const FEWER = Math.max(BATCH, ROWS / 10);
const MAX_RESIDENT_MB = 200;

t.setTimeout(3_600_000);
t.test('a report of a million rows, or a part of them', { skip, timeout: 3_600_000 }, async (t) => {
  const mongodbUri = await testDatabase(t);
  const issuer = await createTestIssuer(t, 'notifications');
  const nats = await startJetStream(t);
  const ports = { commerce: await freePort(), notifications: await freePort() };
  const urlOf = (name: keyof typeof ports) => `http://127.0.0.1:${ports[name]}`;
  const token = await issuer.machine('read:data write:data');

  async function start(name: keyof typeof ports) {
    const main = new URL(`../../../${name}/src/service.ts`, import.meta.url).pathname;
    const prefix = name.toUpperCase();
    // The flags and the allocator's setting as in docker-compose.yml.
    const service = await spawnService(['--max-semi-space-size=4', '--heap-growing-percent=30', main], {
      MALLOC_ARENA_MAX: '1',
      PORT: `${ports[name]}`,
      HOST: '127.0.0.1',
      PUBLIC_URL: issuer.issuer,
      IDENTITY_URL: issuer.issuer,
      USERS_URL: urlOf('commerce'),
      COMMERCE_URL: urlOf('commerce'),
      NOTIFICATIONS_URL: urlOf('notifications'),
      [`${prefix}_CLIENT_SECRET`]: issuer.client.secret,
      [`${prefix}_MASTER_KEY`]: 'ab'.repeat(32),
      [`${prefix}_MONGODB_URI`]: mongodbUri,
      NATS_URL: nats.url,
      TRUSTED_PROXIES: '127.0.0.1',
      RATE_LIMIT: 'off',
      LOG_LEVEL: 'error',
    });
    t.teardown(() => service.child.kill('SIGKILL'));
    await service.ready(30_000);
    return service;
  }

  await start('commerce');
  const client = await new mongoose.mongo.MongoClient(mongodbUri).connect();
  t.teardown(() => client.close());
  const products = client.db().collection<{ _id: string }>('products');
  for (let i = 0; i < ROWS; i += BATCH) {
    await products.insertMany(
      Array.from({ length: BATCH }, (_, n) => productOf(i + n)),
      { ordered: false },
    );
  }
  let worker = await start('notifications');

  async function call(method: string, path: string, body?: object): Promise<Response> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return fetch(urlOf('notifications') + path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }
  const read = async (id: string) => (await (await call('GET', `/v2/reports/${id}`)).json()) as ReportBody;
  async function ask(filters: object = {}): Promise<string> {
    const response = await call('POST', '/v2/reports/generate', { type: 'products', format: 'csv', filters });
    return ((await response.json()) as ReportBody).id;
  }
  const reaches = (id: string, holds: (report: ReportBody) => boolean, limitMs: number) =>
    until(async () => {
      const report = await read(id).catch(() => undefined);
      return report !== undefined && holds(report);
    }, limitMs);
  /** The distinct products in the file, and its lines. */
  async function linesOf(id: string): Promise<{ lines: number; distinct: number }> {
    const seen = new Set<string>();
    let lines = -1;
    let rest = '';
    const { body } = await call('GET', `/v2/reports/${id}/download`);
    for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
      const parts = (rest + Buffer.from(chunk).toString('latin1')).split('\r\n');
      rest = parts.pop() ?? '';
      for (const line of parts) {
        lines += 1;
        if (lines > 0) seen.add(line.slice(0, line.indexOf(',')));
      }
    }
    return { lines, distinct: seen.size };
  }

  await t.test('it is cancelled within two seconds', async (t) => {
    const id = await ask();
    await reaches(id, ({ rows }) => rows > 1000, 60_000);
    const begin = performance.now();
    t.equal((await call('DELETE', `/v2/reports/${id}`)).status, 204);
    const parts = client.db().collection('report_files.chunks');
    await until(async () => (await parts.countDocuments()) === 0, 2000);
    t.comment(`stopped after ${(performance.now() - begin).toFixed(0)} ms`);
    const { rows, status } = await read(id);
    t.equal(status, 'cancelled');
    await new Promise((resolve) => setTimeout(resolve, 1000));
    t.equal((await read(id)).rows, rows, 'nothing goes on');
  });

  await t.test('its worker is killed half way', async (t) => {
    const id = await ask({ category: 'few' });
    await reaches(id, ({ progress }) => progress > 40, 120_000);
    worker.child.kill('SIGKILL');
    await worker.ended;
    worker = await start('notifications');
    await reaches(id, ({ status }) => status === 'completed', 180_000);
    t.same(await linesOf(id), { lines: FEWER, distinct: FEWER }, 'no row twice, and none missing');
    t.equal(
      await client.db().collection('report_files.files').countDocuments(),
      1,
      'nothing is left of the first',
    );
  });

  await t.test('in constant memory', async (t) => {
    const id = await ask();
    let highest = 0;
    const begin = performance.now();
    await reaches(
      id,
      ({ status }) => {
        highest = Math.max(highest, megabytesOf(worker.child.pid));
        return status === 'completed';
      },
      3_000_000,
    );
    const seconds = (performance.now() - begin) / 1000;
    t.comment(`${ROWS} rows in ${seconds.toFixed(0)} s; resident ${highest.toFixed(0)} MB at most`);
    t.ok(highest < MAX_RESIDENT_MB, `${highest.toFixed(0)} MB`);
    t.same(await linesOf(id), { lines: ROWS, distinct: ROWS });
  });
});

function productOf(i: number) {
  const id = newId('prd');
  const at = new Date(Date.parse('2024-01-01T00:00:00Z') + i * 1000);
  return {
    _id: id,
    ...{
      name: `Product ${i}`,
      name_key: `product ${i}`,
      sku_key: `\0${id}`,
      description: null,
      category: i % (ROWS / FEWER) === 0 ? 'few' : 'many',
    },
    ...{
      price: 12.5,
      price_minor: 1250,
      currency: 'EUR',
      stock: 5,
      sku: null,
      status: 'active',
      words: [],
      name_words: [],
    },
    ...{ version: 1, created_at: at, updated_at: at },
  };
}

function megabytesOf(pid: number | undefined): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}
