import { newId } from '@gatehouse/core/ids';
import { createBatches } from '@gatehouse/data/batches';
import type { BeginResult, Job, JobStateStore, Outcome } from '@gatehouse/events/job';
import type { Delivery, DeliveryResult } from './delivery.ts';
import {
  type DeliveryDocument,
  type DeliveryStore,
  deliveryDocuments,
  FREE,
  waiting,
} from './delivery-store.ts';

const { read, write } = deliveryDocuments;
const MAX_ATTEMPTS_KEPT = 20;
const MAX_BATCH = 500;
/** What a crash of the database takes back is found pending by the sweep, and delivered again. */
const UNJOURNALED = { ordered: false, writeConcern: { w: 1, journal: false } } as const;

export type DeliveryJobStates = ReturnType<typeof createDeliveryJobStates>;

/**
 * The states of the jobs of deliveries, in their documents: an attempt is counted in one write before it is made, and another
 * one records what became of it. Those that begin or end at the same time are written with one command.
 */
export function createDeliveryJobStates({ collection }: Pick<DeliveryStore, 'collection'>) {
  /** By their jobs, the deliveries of attempts under way, and what became of them. */
  const held = new Map<string, { delivery: Delivery; holder: string; result?: DeliveryResult }>();

  const begin = createBatches<{ job: Job; leaseMs: number }, BeginResult>({
    max: MAX_BATCH,
    async run(batch) {
      const [now, holder] = [new Date(), newId('att')];
      // When the response is lost, the leases end before these are tried again.
      const operations = [...Map.groupBy(batch, ({ job }) => Number(job.data.run))].map(([run, same]) => ({
        updateMany: {
          filter: {
            _id: { $in: same.map(({ job }) => idOf(job)) },
            run,
            status: 'pending' as const,
            next_attempt_at: { $lte: now },
            leased_until: { $lte: now },
          },
          update: {
            $set: { holder, leased_until: new Date(now.getTime() + (same[0]?.leaseMs ?? 0)) },
            $inc: { begun: 1 },
          },
        },
      }));
      await collection.bulkWrite(operations, UNJOURNALED);
      const found = await collection.find({ _id: { $in: batch.map(({ job }) => idOf(job)) } }).toArray();
      const documents = new Map(found.map((document) => [document._id, document]));
      return batch.map(({ job }): BeginResult => {
        const document = documents.get(idOf(job));
        if (document === undefined || document.run !== job.data.run || document.status !== 'pending') {
          return 'ended';
        }
        if (document.holder === holder && held.get(job.id)?.holder !== holder) {
          held.set(job.id, { delivery: read(document), holder });
          return { attempt: document.begun };
        }
        const until = Math.max(document.leased_until.getTime(), document.next_attempt_at?.getTime() ?? 0);
        return { busyMs: Math.max(until - now.getTime(), 1) };
      });
    },
  });

  const end = createBatches<{ job: Job; outcome: Outcome }, void>({
    max: MAX_BATCH,
    async run(batch) {
      const now = new Date();
      const over = batch.flatMap(({ job, outcome }) => {
        const { holder, result = {} } = held.get(job.id) ?? {};
        return holder === undefined
          ? []
          : [{ id: idOf(job), holder, change: changeOf(now, outcome, result) }];
      });
      // A holder has one run of a delivery. A statement for each delivery would cost several times as much.
      const operations = [...Map.groupBy(over, (it) => it.holder)].map(([holder, same]) => ({
        updateMany: {
          filter: { _id: { $in: same.map(({ id }) => id) }, holder },
          update: ending(new Map(same.map(({ id, change }) => [id, change]))),
        },
      }));
      if (operations.length > 0) await collection.bulkWrite(operations, UNJOURNALED);
      for (const { job } of batch) held.delete(job.id);
      return batch.map(() => undefined);
    },
  });

  const jobStates: JobStateStore = {
    // A delivery cannot end its process, so that none that was interrupted has to run alone.
    begin: (job, { leaseMs }) => begin({ job, leaseMs }),
    async renew(job, _attempt, leaseMs) {
      const { holder } = held.get(job.id) ?? {};
      const lease = { $set: { leased_until: new Date(Date.now() + leaseMs) } };
      const isHeld =
        holder !== undefined &&
        (await collection.updateOne({ ...currentRun(job), holder }, lease)).matchedCount === 1;
      // Another process has it, and ends it.
      if (!isHeld) held.delete(job.id);
      return isHeld;
    },
    end: (job, _attempt, outcome) => end({ job, outcome }),
    async reset() {
      throw new Error('deliveries do not become dead letters');
    },
  };

  return {
    jobStates,
    /** The delivery of a job whose attempt has begun; `undefined` when it was taken over. */
    heldBy: ({ id }: Job): Delivery | undefined => held.get(id)?.delivery,
    /** What is recorded when the attempt ends. */
    note({ id }: Job, result: DeliveryResult): void {
      const own = held.get(id);
      if (own !== undefined) own.result = result;
    },
  };
}

/** The id of the delivery of a job, and what it is besides that. */
const idOf = ({ data }: Job) => String(data.delivery);
const currentRun = (job: Job) => ({ _id: idOf(job), run: Number(job.data.run) });

type Change = {
  set: Partial<DeliveryDocument>;
  /** What is added to the attempts of this run that have begun. */
  begun: number;
  attempts: readonly unknown[];
};

/** What the end of an attempt changes. */
function changeOf(now: Date, outcome: Outcome, { attempt, status, reason = null }: DeliveryResult): Change {
  const isOver = outcome.result === 'succeeded' || outcome.result === 'rejected' || outcome.result === 'dead';
  const next = isOver
    ? {
        status: status ?? ('failed' as const),
        next_attempt_at: null,
        check_at: null,
        leased_until: FREE,
        holder: null,
      }
    : waiting(now, outcome.retryInMs);
  const isPostponed = outcome.result === 'postponed';
  return {
    set: { ...next, updated_at: now, ...(isPostponed ? {} : { reason }) },
    begun: isPostponed ? -1 : 0,
    attempts: attempt === undefined ? [] : write({ attempts: [attempt] } as unknown as Delivery).attempts,
  };
}

/** The update that makes the change of each delivery, by its id. */
function ending(changes: ReadonlyMap<string, Change>) {
  // Literal: a response of an endpoint may have a text that begins with a dollar sign.
  const change = { $getField: { field: '$_id', input: { $literal: Object.fromEntries(changes) } } };
  const attempts = { $concatArrays: ['$attempts', '$$change.attempts'] };
  const counted = {
    version: { $add: ['$version', 1] },
    begun: { $add: ['$begun', '$$change.begun'] },
    attempts: { $slice: [attempts, -MAX_ATTEMPTS_KEPT] },
  };
  const changed = { $mergeObjects: ['$$ROOT', '$$change.set', counted] };
  return [{ $replaceWith: { $let: { vars: { change }, in: changed } } }];
}
