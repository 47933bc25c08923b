import type { Database } from '@gatehouse/data/database';
import type { JobKind } from '@gatehouse/events/job-kind';
import type { Delivery, DeliveryResult } from './delivery.ts';
import { DELIVERIES, type DeliveryDocument, deliveryDocuments } from './delivery-store.ts';

const { write } = deliveryDocuments;
const MAX_ATTEMPTS_KEPT = 20;

/** The jobs that are deliveries. Their handler notes the result of an attempt. */
export function deliveryJobs({
  connection,
}: Pick<Database, 'connection'>): JobKind<DeliveryDocument, DeliveryResult> {
  return {
    collection: connection.collection(DELIVERIES),
    noun: 'delivery',
    mayEndProcess: false,
    wasMade: (result) => result?.attempt !== undefined,
    // A delivery whose write is lost in a crash of the database is pending, and is delivered again.
    writeConcern: { w: 1, journal: false },
    changesOf(_job, { outcome, result: { attempt, status = 'failed', reason = null } = {}, now }) {
      const isPostponed = outcome.result === 'postponed';
      const next =
        'retryInMs' in outcome
          ? { next_attempt_at: new Date(now.getTime() + outcome.retryInMs) }
          : { next_attempt_at: null, status };
      const attempts = attempt === undefined ? [] : [attempt];
      return {
        set: { ...next, updated_at: now, ...(isPostponed ? {} : { reason }) },
        change: { attempts: write({ attempts } as unknown as Delivery).attempts },
      };
    },
    applied: {
      version: { $add: ['$version', 1] },
      attempts: { $slice: [{ $concatArrays: ['$attempts', '$$change.attempts'] }, -MAX_ATTEMPTS_KEPT] },
    },
  };
}
