import { v2Body } from '@gatehouse/api/http/error-bodies';
import type { ResourceContext, ResourceParts } from '@gatehouse/api/resource/create-resource-service';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import type { Announce } from '../events/announce.ts';
import { createDelegationClient } from './delegation-client.ts';
import { eraseReports, expireReport, type Report } from './report.ts';
import { createReportFileStore } from './report-file-store.ts';
import { mountReports, PREFIXES } from './report-routes.ts';
import { createReportService } from './report-service.ts';
import { createReportStore, jobOf, LANE, REPORTS } from './report-store.ts';
import { createReportHandler, endReport } from './report-worker.ts';

/** The paths of this module, with the error bodies of their routes. */
export const REPORT_PATHS = PREFIXES.map((prefix) => ({
  prefix,
  profiles: [{ name: 'latest', about: 'reports', errorBody: v2Body }],
}));

const QUEUE = 'reports';
/** Reports that a process makes at the same time: each takes memory, and load on the other services. */
const SLOTS = 2;
/** The longest time that making a report may take. */
const TIMEOUT_MS = 3_600_000;
const MAX_ATTEMPTS = 5;
const SWEEP_MS = 30_000;

/** Reports: their types, generating and downloading them. */
export function createReportsModule(
  { connection, identity, logger, queues }: ResourceContext,
  config: {
    lanes: { isPaused(queue: string, lane: string): boolean; count(...of: [string, string, string]): void };
    announce: Announce;
    origins: Parameters<typeof createReportHandler>[0]['origins'];
    fileDays: number;
    /** For how many days there are values by day. */
    usageDays: number;
  },
) {
  const { lanes } = config;
  const delegations = createDelegationClient(identity);
  const files = createReportFileStore(connection);
  const store = createReportStore(connection);
  const queue = queues({
    ...{ name: QUEUE, lanes: [LANE] },
    kind: {
      ...{ collection: store.collection, noun: 'report', mayEndProcess: true },
      changesOf: () => ({ set: {} }),
      reset: { status: 'queued', error: null, progress: 0, rows: 0 },
    },
  });
  async function announceEnd({ id, requester, type }: Report, status: 'completed' | 'failed') {
    const data = { report_id: id, requester, type, status };
    await config.announce(`notifications.report.${status}`, data, id);
  }
  const reports = createReportService({
    store,
    files,
    announce: (report, asker) => queue.announce(jobOf(report, asker)),
    usageDays: config.usageDays,
  });
  const handler = createReportHandler({
    store,
    files,
    delegations,
    origins: config.origins,
    fileSeconds: config.fileDays * 86_400,
  });
  const sweeper = createPeriodicTask({
    everyMs: () => SWEEP_MS,
    async run() {
      for (const id of await store.expiredBy(new Date())) {
        await expireReport(id, store, files);
      }
    },
    onError: (error) => logger.warn({ err: error }, 'reports could not be swept'),
  });

  const worker = queue.work({
    lane: LANE,
    handler,
    slots: SLOTS,
    timeoutMs: TIMEOUT_MS,
    maxAttempts: MAX_ATTEMPTS,
    paused: () => lanes.isPaused(QUEUE, LANE),
    onEnding: ({ id }, outcome) => endReport(id, outcome, { store, files, announce: announceEnd }),
    onEnded: (_job, { result }) => lanes.count(QUEUE, LANE, result),
  });

  const parts: ResourceParts = {
    routes(app, { mountOptions }) {
      mountReports(app, { reports, files, delegate: delegations.create, mountOptions });
    },
    erase: (userId, requestedAt) => eraseReports(userId, requestedAt, store, files),
    background: [sweeper, worker],
    expiring: [REPORTS],
  };
  return { parts, operated: { queue, lanes: [LANE] } };
}
