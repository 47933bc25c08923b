import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t from 'tap';
import { createReportFileStore } from '../../src/reports/report-file-store.ts';
import { build } from './service.ts';

const { base, token, generate, mongodbUri, download } = await build(t);
const { connection } = await startTestDatabase(t, { uri: mongodbUri });

const MEGABYTES = 32;
const BROKEN_OFF = 120;
const PAUSED = 30;

/** A report with a file of so many megabytes, the first byte of each is its number. */
async function largeReport(): Promise<string> {
  const { id } = await generate({ type: 'orders', format: 'csv' });
  const fileId = `${id}.large`;
  async function* megabytes() {
    for (let i = 0; i < MEGABYTES; i += 1) yield Buffer.alloc(1e6).fill(i, 0, 1);
  }
  const bytes = await createReportFileStore(connection).write(
    fileId,
    megabytes(),
    AbortSignal.timeout(30_000),
  );
  const reports = connection.collection<{ _id: string }>('reports');
  await reports.updateOne({ _id: id }, { $set: { file_id: fileId, bytes } });
  return id;
}

async function openCursors(): Promise<number> {
  const status = (await connection.db?.command({ serverStatus: 1 })) as {
    metrics: { cursor: { open: { total: number } } };
  };
  return Number(status.metrics.cursor.open.total);
}

async function begin(id: string): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${token}` };
  const request = get(`${base}/v2/reports/${id}/download`, { agent: false, headers });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.on('error', () => {});
  return response;
}

t.test('downloads that are broken off or not read leave nothing in memory', async (t) => {
  const id = await largeReport();
  const before = { cursors: await openCursors(), memory: process.memoryUsage().rss };
  const growth = () => (process.memoryUsage().rss - before.memory) / 1e6;
  for (let i = 0; i < BROKEN_OFF; i += 1) {
    const response = await begin(id);
    await once(response, 'readable');
    response.destroy();
  }
  await until(async () => (await openCursors()) <= before.cursors, 5000);
  t.ok(growth() < 150, `broken off: ${growth().toFixed(0)} MB`);
  const paused = await Promise.all(Array.from({ length: PAUSED }, () => begin(id)));
  await sleep(1000);
  t.ok(growth() < 250, `not read: ${growth().toFixed(0)} MB`);
  for (const response of paused) response.destroy();
});

t.test('the whole file, and each range of it', async (t) => {
  const id = await largeReport();
  const whole = Buffer.from(await (await download(id)).arrayBuffer());
  t.equal(whole.length, MEGABYTES * 1e6);
  const chunk = 255 * 1024;
  for (const [start, end] of [
    [0, 0],
    [chunk - 1, chunk],
    [chunk, 2 * chunk - 1],
    [3 * chunk + 7, 9 * chunk + 5],
    [whole.length - 1, whole.length - 1],
  ] as const) {
    const range = await download(id, { range: `bytes=${start}-${end}` });
    const bytes = Buffer.from(await range.arrayBuffer());
    t.ok(bytes.equals(whole.subarray(start, end + 1)), `${start}-${end}`);
  }
});
