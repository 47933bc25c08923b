import { v2Body } from '@gatehouse/api/http/error-bodies';
import type { ResourceContext, ResourceParts } from '@gatehouse/api/resource/create-resource-service';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import { outboxEvent } from '@gatehouse/data/outbox';
import { createJobPublisher } from '@gatehouse/events/job-publisher';
import { createJobStateStore, JOB_ATTEMPTS } from '@gatehouse/events/job-state-store';
import type { Announce } from '../events/announce.ts';
import { createDelegationClient } from './delegation-client.ts';
import { eraseReports, expireReport } from './report.ts';
import { createReportFileStore } from './report-file-store.ts';
import { mountReports, PREFIXES } from './report-routes.ts';
import { createReportService } from './report-service.ts';
import { createReportStore, newJobId, REPORTS, type ReportDocument } from './report-store.ts';
import { createReportHandler, removeUnused, reportJobStates } from './report-worker.ts';

/** The paths of this module, with the error bodies of their routes. */
export const REPORT_PATHS = PREFIXES.map((prefix) => ({
  prefix,
  profiles: [{ name: 'latest', about: 'reports', errorBody: v2Body }],
}));

const QUEUE = 'reports';
const LANE = 'all';
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
  const jobStates = reportJobStates(createJobStateStore(connection), {
    async onFailed(id, error) {
      await announceEnd(id, 'failed');
      return store.fail(id, error);
    },
    onCompleted: (id) => announceEnd(id, 'completed'),
    onRequeued: (id) => store.requeue(id),
    onOutcome: (outcome) => lanes.count(QUEUE, LANE, outcome),
    removeUnused: (id) => removeUnused(id, { store, files }),
  });
  /** Nothing about one that was cancelled. */
  async function announceEnd(id: string, status: 'completed' | 'failed'): Promise<void> {
    const report = await store.findById(id);
    const isEnding = status === 'completed' ? report?.status === status : report?.status !== 'cancelled';
    if (report === undefined || !isEnding) return;
    const data = { report_id: id, requester: report.requester, type: report.type, status };
    await config.announce(`notifications.report.${status}`, data, id);
  }
  const queue = queues({ name: QUEUE, lanes: [LANE], jobStates });
  const store = createReportStore(connection);
  const subject = queue.subject('normal', LANE);
  const jobs = createJobPublisher<ReportDocument>({
    queue,
    collection: store.collection,
    logger,
    projection: { job_id: 1 },
    eventOf: ({ _id: report, job_id: id }) => ({ id, subject, at: new Date(), data: { report } }),
  });
  const reports = createReportService({
    store,
    files,
    newJobId,
    publish: ({ id: report, jobId: id }) => jobs.publish(outboxEvent(subject, { report }, id)),
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
  });

  const parts: ResourceParts = {
    routes(app, { mountOptions }) {
      mountReports(app, { reports, files, delegate: delegations.create, mountOptions });
    },
    erase: (userId, requestedAt) => eraseReports(userId, requestedAt, store, files),
    prepare: store.checkOpen,
    background: [jobs, sweeper, worker],
    expiring: [REPORTS, JOB_ATTEMPTS],
  };
  return { parts, operated: { queue, lanes: [LANE] } };
}
