import t from 'tap';
import type { Report, ReportFileStore, ReportStore } from '../../src/reports/report.ts';
import { createReportHandler } from '../../src/reports/report-worker.ts';

t.test('files of a killed process are removed after the end of the report', async (t) => {
  for (const [ended, kept] of [
    [{ status: 'cancelled', fileId: null }, undefined],
    [{ status: 'expired', fileId: 'rpt_1.a' }, undefined],
    [{ status: 'completed', fileId: 'rpt_1.a' }, 'rpt_1.a'],
    [undefined, undefined],
  ] as const) {
    const removed: unknown[][] = [];
    const handler = createReportHandler({
      store: {
        start: async () => undefined,
        findById: async () => ended as Report | undefined,
      } as unknown as ReportStore,
      files: {
        async removeOthers(...about: unknown[]) {
          removed.push(about);
        },
      } as unknown as ReportFileStore,
      delegations: {
        tokens: () => () => Promise.reject(new Error('not asked')),
        applicationNames: () => Promise.reject(new Error('not asked')),
      },
      origins: { users: '', commerce: '', notifications: '' },
      fileSeconds: 60,
    });
    await handler({ id: 'rpt_1' }, { signal: AbortSignal.timeout(5000) });
    t.same(removed, [['rpt_1', kept]], ended?.status ?? 'forgotten');
  }
});
