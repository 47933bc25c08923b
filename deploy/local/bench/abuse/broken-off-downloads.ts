// Downloads of a report of 32 MB: those that are broken off after their first bytes, and those that are never read.
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { until } from '@gatehouse/testing/processes';
import { databaseUri } from '../../src/database-uri.ts';
import type { Abuse, Target } from '../abuse.ts';

const BROKEN_OFF = 120;
const PAUSED = 30;
const PAUSED_MS = 5000;
const CHUNKS = 128;
const CHUNK_BYTES = 255 * 1024;

/** A report whose file is as long as that of hundreds of thousands of rows; resolves to its path. */
async function largeReport({ base, token, mongoUri }: Target): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ type: 'products', format: 'csv' });
  const asked = await fetch(`${base}/v2/reports/generate`, { method: 'POST', headers, body });
  const path = asked.headers.get('location') ?? '';
  let id = '';
  await until(async () => {
    const report = (await (await fetch(base + path, { headers })).json()) as { id: string; status: string };
    id = report.id;
    return report.status === 'completed';
  }, 30_000);
  const name = 'notifications';
  const logger = createLogger({ name: 'bench', level: 'warn', readable: true });
  const database = createDatabase({ uri: databaseUri(mongoUri, name), name, logger });
  await database.start();
  const reports = database.connection.collection<{ _id: string; file_id: string; bytes: number }>('reports');
  const length = CHUNKS * CHUNK_BYTES;
  const report = await reports.findOneAndUpdate({ _id: id }, { $set: { bytes: length } });
  const fileId = String(report?.file_id);
  const files = database.connection.collection<{ _id: string }>('report_files.files');
  await files.updateOne({ _id: fileId }, { $set: { length } });
  const chunks = database.connection.collection<{ files_id: string }>('report_files.chunks');
  await chunks.deleteMany({ files_id: fileId });
  const data = Buffer.alloc(CHUNK_BYTES, 'x');
  const all = Array.from({ length: CHUNKS }, (_, n) => ({ files_id: fileId, n, data }));
  await chunks.insertMany(all);
  await database.stop();
  return `${path}/download`;
}

export async function prepare(target: Target): Promise<Abuse> {
  const path = await largeReport(target);
  async function download(): Promise<IncomingMessage> {
    const sent = get(target.base + path, {
      agent: false,
      headers: { authorization: `Bearer ${target.token}` },
    });
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    if (response.statusCode !== 200) throw new Error(`${path} answered ${response.statusCode}`);
    response.on('error', () => {});
    return response;
  }
  return {
    async attack() {
      for (let i = 0; i < BROKEN_OFF; i += 1) {
        const response = await download();
        await once(response, 'readable');
        response.destroy();
      }
      const paused = await Promise.all(Array.from({ length: PAUSED }, download));
      await sleep(PAUSED_MS);
      for (const response of paused) response.destroy();
    },
  };
}
