import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '@gatehouse/core/ids';
import { REPORT_FORMATS } from '@gatehouse/domain/report-fields';
import { listen } from '@gatehouse/testing/listen';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t from 'tap';
import type { Report, ReportStore } from '../../src/reports/report.ts';
import { createReportFileStore } from '../../src/reports/report-file-store.ts';
import { createReportStore } from '../../src/reports/report-store.ts';
import { createReportHandler, endReport } from '../../src/reports/report-worker.ts';

const { store, connection } = await startTestDatabase(t, {
  define: createReportStore,
});
const files = createReportFileStore(connection);

/** Answers each request for a page when it is told to. */
const asked: (() => void)[] = [];
let arrived = Promise.withResolvers<void>();
let pages = 0;
const commerce = createServer((request, response) => {
  if (request.url?.includes('endless')) {
    pages += 1;
    return void response.end(JSON.stringify({ data: [{ id: 'ord_1' }], links: { next: request.url } }));
  }
  asked.push(() => response.end(JSON.stringify({ data: [{ id: 'ord_1' }], links: {}, meta: {} })));
  arrived.resolve();
});
const origin = `http://127.0.0.1:${await listen(t, commerce)}`;

/** A process that makes reports. */
function processWith(changed: Partial<ReportStore> = {}) {
  const handler = createReportHandler({
    store: { ...store, ...changed },
    files,
    delegations: {
      tokens: () => async () => ({ value: 'token', lifetime: 300 }),
      applicationNames: () => Promise.reject(new Error('not asked')),
    },
    origins: { users: origin, commerce: origin, notifications: origin },
    fileSeconds: 60,
  });
  return (id: string) => handler({ id }, { signal: AbortSignal.timeout(20_000) });
}

async function add(changed: Partial<Report> = {}): Promise<string> {
  const [id, now] = [newId('rpt'), new Date()];
  const report: Report = {
    ...{ id, requester: id, role: 'editor', delegation: 'handle' },
    ...{ type: 'orders', format: 'json', from: null, to: null, timezone: 'UTC', filters: {} },
    ...{ status: 'queued', progress: 0, rows: 0, bytes: null, fileId: null, error: null, version: 1 },
    ...{ createdAt: now, updatedAt: now, startedAt: null, completedAt: null, expiresAt: null },
    ...changed,
  };
  t.equal(await store.insert(report, report.requester), true);
  return id;
}

/** Begins the report, and resolves when it has asked for its page; the result is what answers that. */
async function begin(make: (id: string) => Promise<void>, id: string) {
  arrived = Promise.withResolvers();
  const made = make(id);
  await arrived.promise;
  const reply = asked.pop() as () => void;
  return { response: reply, made };
}

/** How many files there are of a report, in part or whole. */
async function filesOf(id: string): Promise<number> {
  const found = await connection
    .collection('report_files.chunks')
    .distinct('files_id', { files_id: { $gte: `${id}.`, $lt: `${id}/` } } as never);
  return found.length;
}

async function checkFile(t: { equal(a: unknown, b: unknown): void }, id: string): Promise<void> {
  const { status, fileId, bytes } = (await store.findById(id)) as Report;
  t.equal(status, 'completed');
  t.equal(await filesOf(id), 1);
  const content = await buffer(files.read(String(fileId), { start: 0, end: Number(bytes) }));
  t.equal(JSON.parse(content.toString()).rows.length, 1);
}

t.test('the file of the process that completes a report is kept by another that was making it', async (t) => {
  for (const first of [0, 1]) {
    const id = await add();
    const attempts = [await begin(processWith(), id), await begin(processWith(), id)];
    for (const i of [first, 1 - first]) {
      attempts[i]?.response();
      await attempts[i]?.made;
    }
    await checkFile(t, id);
  }
});

t.test('the file is kept when the report is completed, and only the answer to that is lost', async (t) => {
  const id = await add();
  const { response: reply, made } = await begin(
    processWith({
      async complete(...about) {
        await store.complete(...about);
        throw new Error('the connection was lost');
      },
    }),
    id,
  );
  reply();
  await t.rejects(made, { message: 'the connection was lost' });
  await processWith()(id);
  await checkFile(t, id);
});

t.test('files of killed processes are removed when a report fails for good', async (t) => {
  const announced: string[] = [];
  for (const outcome of [
    { result: 'dead', error: 'It was killed.', attempts: 5 },
    { result: 'rejected', error: 'It was killed.' },
  ] as const) {
    const id = await add();
    await files.write(`${id}.killed`, chunks(), AbortSignal.timeout(5000));
    await endReport(id, outcome, {
      store,
      files,
      announce: async (report, status) => void announced.push(`${report.id} ${status}`),
    });
    t.match(await store.findById(id), { status: 'failed' });
    t.equal(await filesOf(id), 0, outcome.result);
    t.equal(announced.at(-1), `${id} failed`);
  }
});

t.test('a report that is cancelled while its rows are read reads no more of them', async (t) => {
  for (const format of REPORT_FORMATS) {
    const id = await add({ format, filters: { user_id: 'endless' } });
    pages = 0;
    const made = processWith()(id);
    await until(() => pages > 10, 5000);
    await store.cancel(id);
    await made;
    const before = pages;
    await sleep(100);
    t.equal(pages, before, format);
    t.equal(await filesOf(id), 0, format);
  }
});

t.test('a report is remembered for longer than its file is kept', async (t) => {
  const id = await add();
  await store.start(id);
  const expiresAt = new Date(Date.now() + 365 * 86_400_000);
  await store.complete(id, { fileId: `${id}.a`, rows: 1, bytes: 1, expiresAt });
  const stored = await connection.collection<{ _id: string }>('reports').findOne({ _id: id });
  t.ok((stored as unknown as { expires_at: Date }).expires_at > expiresAt);
});

async function* chunks() {
  yield Buffer.from('half of a report');
}
