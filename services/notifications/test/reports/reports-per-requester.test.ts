import { newId } from '@gatehouse/core/ids';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t from 'tap';
import type { Report } from '../../src/reports/report.ts';
import { createReportStore } from '../../src/reports/report-store.ts';

const { store } = await startTestDatabase(t, {
  define: createReportStore,
});

async function add(requester: string, asker = requester): Promise<string> {
  const [id, now] = [newId('rpt'), new Date()];
  const report: Report = {
    ...{ id, requester, role: 'editor', delegation: 'handle' },
    ...{ type: 'orders', format: 'csv', from: null, to: null, timezone: 'UTC', filters: {} },
    ...{ status: 'queued', progress: 0, rows: 0, bytes: null, fileId: null, error: null, version: 1 },
    ...{ createdAt: now, updatedAt: now, startedAt: null, completedAt: null, expiresAt: null },
  };
  t.equal(await store.insert(report, asker), true);
  return id;
}

t.test('one report of each requester is made at a time, those of others beside it', async (t) => {
  const ends: Record<string, (id: string) => Promise<unknown>> = {
    completed: (id) => store.complete(id, { fileId: 'x', rows: 1, bytes: 1, expiresAt: new Date() }),
    failed: (id) => store.fail(id, 'failed'),
    cancelled: (id) => store.cancel(id),
    interrupted: (id) => store.interrupt(id),
  };
  for (const [name, end] of Object.entries(ends)) {
    const [first, second, other] = [
      await add(`${name} ann`),
      await add(`${name} ann`),
      await add(`${name} bob`),
    ];
    const started = await Promise.all([store.start(first), store.start(other)]);
    t.match(started, [{ id: first, status: 'running' }, { id: other }], name);
    t.equal(await store.start(second), 'waits', name);
    t.match(await store.findById(second), { status: 'queued' }, name);
    t.match(await store.start(first), { id: first }, `${name}: begun again, after its process was killed`);
    await end(first);
    t.match(await store.start(second), { id: second }, name);
  }
});

t.test('a report that a member asks for holds up none of the owner', async (t) => {
  const [ofMember, next, own] = [
    await add('owner', 'member'),
    await add('owner', 'member'),
    await add('owner'),
  ];
  t.match([await store.start(ofMember), await store.start(own)], [{ id: ofMember }, { id: own }]);
  t.equal(await store.start(next), 'waits', 'but the next one of the same member');
});
