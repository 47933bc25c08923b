import { newId } from '@gatehouse/core/ids';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { createBatches } from '@gatehouse/data/batches';
import type { defineCollection } from '@gatehouse/data/collection';
import type { Database } from '@gatehouse/data/database';
import {
  IS_OPEN,
  JOB_INDEXES,
  type JobDocument,
  type JobState,
  PRIORITIES,
  type Priority,
} from '@gatehouse/data/job-document';
import type { Job, Outcome } from './job.ts';
import type { OwnerJobs } from './owner-turns.ts';

/** Fields of a document with aggregation expressions. */
type Expressions = Readonly<Record<string, unknown>>;

/** The collection of the jobs of a queue, and what attempts change in its documents besides `job`. */
export type JobKind<D extends JobDocument, R = unknown> = {
  /** With JOB_INDEXES, of which it needs `held` only if `mayEndProcess` is true. */
  collection: ReturnType<Database['connection']['collection']>;
  /** A word for the document, by which operators see it. */
  noun: string;
  /** Changed when an attempt begins. An attempt before it may never have ended. */
  begun?(now: Date): Expressions;
  /**
   * Changed when an attempt ends: `set` are values; `change` is for the expressions of `applied`, where it is `$$change`.
   *
   * @param result what the handler has noted last
   */
  changesOf(
    job: Job<D>,
    end: { outcome: Outcome; result: R | undefined; now: Date },
  ): { set: Readonly<Record<string, unknown>>; change?: Readonly<Record<string, unknown>> };
  applied?: Expressions;
  /** Whether an attempt that was postponed counts all the same. */
  wasMade?(result: R | undefined): boolean;
  /** The values of a job that is to be done again after it has failed. */
  reset?: Readonly<Record<string, unknown>>;
  /**
   * Whether the handler can crash the process. If so, an interrupted job runs alone.
   */
  mayEndProcess: boolean;
  /** Journaled unless given. A job whose write is lost in a crash is done again. */
  writeConcern?: { w: 1; journal: boolean };
};

/** The number of jobs that may be claimed, by their owners. */
export type Wanted = OwnerJobs & { max: number };

type Jobs = ReturnType<typeof defineCollection<JobDocument>>;

const MAX_BATCH = 500;

export type JobCollection<D extends JobDocument, R> = ReturnType<typeof createJobCollection<D, R>>;

/** Claims and settles the jobs of a queue, many with one command. */
export function createJobCollection<D extends JobDocument, R>(queue: string, kind: JobKind<D, R>) {
  const { collection, mayEndProcess } = kind;
  // The driver's types do not know the paths of these documents.
  const jobs = collection as unknown as Jobs;
  const how = kind.writeConcern ? { writeConcern: kind.writeConcern } : {};
  /** A job that was interrupted and may end its process is claimed by claimInterrupted() instead. */
  const isFree = mayEndProcess ? { 'job.holder': null } : {};

  function jobOf(document: D, holder: string): Job<D> {
    const { lane, priority, owner, attempts, traceparent } = document.job as JobState;
    const place = { queue, lane, priority, owner, traceparent };
    return { id: document._id, ...place, attempt: attempts + 1, holder, document };
  }

  type Claim = { documents: readonly D[]; holder: string };
  /** By lane: the claim whose response was lost. Perhaps it was made. */
  const lost = new Map<string, Claim>();

  const newClaim = (documents: readonly D[]): Claim => ({ documents, holder: newId('att') });

  /** Those of the documents that the holder has. */
  async function ownOf({ documents, holder }: Claim): Promise<Job<D>[]> {
    const ids = documents.map(({ _id }) => _id);
    const found = jobs.find({ _id: { $in: ids }, 'job.holder': holder }, { projection: { _id: 1 } });
    const own = new Set((await found.toArray()).map(({ _id }) => _id));
    return documents.filter(({ _id }) => own.has(_id)).map((it) => jobOf(it, holder));
  }

  /** The jobs of a claim whose response was lost, with a new lease. */
  async function takeLost(lane: string, leaseMs: number): Promise<Job<D>[]> {
    const claim = lost.get(lane);
    if (claim === undefined) return [];
    const ids = claim.documents.map(({ _id }) => _id);
    const lease = { $set: { 'job.due': new Date(Date.now() + leaseMs) } };
    await jobs.updateMany({ _id: { $in: ids }, 'job.holder': claim.holder }, lease as never, how);
    const own = await ownOf(claim);
    lost.delete(lane);
    return own;
  }

  /** Those of the documents that nobody else has claimed meanwhile. */
  async function claimDocuments({ documents, holder }: Claim, leaseMs: number): Promise<Job<D>[]> {
    if (documents.length === 0) return [];
    const now = new Date();
    const ids = documents.map(({ _id }) => _id);
    const claimed = { 'job.due': new Date(now.getTime() + leaseMs), 'job.holder': holder };
    // Without expressions it costs the database less.
    const update =
      kind.begun === undefined
        ? { $set: claimed, $inc: { 'job.attempts': 1 } }
        : [{ $set: { ...kind.begun(now), ...claimed, 'job.attempts': { $add: ['$job.attempts', 1] } } }];
    const { modifiedCount } = await jobs.updateMany(
      { _id: { $in: ids }, 'job.due': { ...IS_OPEN, $lte: now } },
      update as never,
      how,
    );
    if (modifiedCount === documents.length) return documents.map((it) => jobOf(it, holder));
    return ownOf({ documents, holder });
  }

  const findInterrupted = (lane: string, except: ReadonlyMap<string, unknown>) =>
    jobs.findOne(
      {
        _id: { $nin: [...except.keys()] },
        ...{ 'job.lane': lane, 'job.due': { ...IS_OPEN, $lte: new Date() } },
        'job.holder': { $type: 'string' },
      },
      { sort: { 'job.due': 1 }, hint: JOB_INDEXES.held.options.name },
    );

  function endOf(job: Job<D>, outcome: Outcome, result: R | undefined) {
    const now = new Date();
    const { set, change = {} } = kind.changesOf(job, { outcome, result, now });
    const isCounted = outcome.result !== 'postponed' || kind.wasMade?.(result) === true;
    const after = stateAfter(outcome, isCounted ? undefined : job.attempt - 1, now);
    return { id: job.id, holder: job.holder, end: { job: after, set, change } };
  }

  const settle = createBatches<ReturnType<typeof endOf>, void>({
    max: MAX_BATCH,
    async run(ends) {
      // One statement for each claim: one for each job would cost the database several times as much.
      const operations = [...Map.groupBy(ends, ({ holder }) => holder)].map(([holder, same]) => ({
        updateMany: {
          filter: { _id: { $in: same.map(({ id }) => id) }, 'job.holder': holder },
          update: settling(new Map(same.map(({ id, end }) => [id, end])), kind.applied),
        },
      }));
      await jobs.bulkWrite(operations as never, { ordered: false, ...how });
      return ends.map(() => undefined);
    },
  });

  return {
    /**
     * Claims jobs that are due, those of each owner in the order of their times, without those that are worked on here. After a rejected
     * call, the next one resolves to the jobs that the rejected one has claimed, if any.
     */
    async claim(
      lane: string,
      wanted: readonly Wanted[],
      { leaseMs, except }: { leaseMs: number; except: Pick<ReadonlyMap<string, unknown>, 'has'> },
    ): Promise<Job<D>[]> {
      const earlier = await takeLost(lane, leaseMs);
      if (earlier.length > 0) return earlier;
      const now = new Date();
      const found = wanted.map(({ priority, owner, max }) =>
        jobs
          .find(
            {
              ...{ 'job.lane': lane, 'job.priority': priority, 'job.owner': owner },
              ...{ 'job.due': { ...IS_OPEN, $lte: now }, ...isFree },
            },
            { sort: { 'job.due': 1 }, limit: max },
          )
          .hint(JOB_INDEXES.due.options.name)
          .toArray(),
      );
      const due = (await Promise.all(found)).flat() as unknown as D[];
      const claim = newClaim(due.filter(({ _id }) => !except.has(_id)));
      try {
        return await claimDocuments(claim, leaseMs);
      } catch (error) {
        lost.set(lane, claim);
        throw error;
      }
    },

    /** Whether there is a job whose attempt never ended, and which has to run alone. */
    hasInterrupted: async (lane: string, except: ReadonlyMap<string, unknown> = new Map()) =>
      mayEndProcess && (await findInterrupted(lane, except)) !== null,

    /** Claims such a job; undefined if there is none. */
    async claimInterrupted(
      lane: string,
      except: ReadonlyMap<string, unknown>,
      leaseMs: number,
    ): Promise<Job<D> | undefined> {
      const found = await findInterrupted(lane, except);
      return found === null
        ? undefined
        : (await claimDocuments(newClaim([found as unknown as D]), leaseMs))[0];
    },

    /** Prolongs the leases of these jobs. Returns those that are gone, have ended or were claimed by somebody else. */
    async renew(held: readonly Job<D>[], leaseMs: number): Promise<Job<D>[]> {
      const filter = {
        _id: { $in: held.map(({ id }) => id) },
        'job.holder': { $in: [...new Set(held.map(({ holder }) => holder))] },
      };
      const lease = { $set: { 'job.due': new Date(Date.now() + leaseMs) } };
      const { matchedCount } = await jobs.updateMany(filter, lease as never, how);
      if (matchedCount === held.length) return [];
      const found = await jobs.find(filter, { projection: { 'job.holder': 1 } }).toArray();
      const holders = new Map(found.map(({ _id, job }) => [_id, job?.holder]));
      return held.filter(({ id, holder }) => holders.get(id) !== holder);
    },

    /** Records how an attempt has ended. Changes nothing if somebody else has claimed the job. */
    settle: async (job: Job<D>, outcome: Outcome, result: R | undefined) =>
      settle(endOf(job, outcome, result)),

    /** The owners of open jobs of a lane, and when the first of each is due. */
    async dueTimes(lane: string): Promise<(OwnerJobs & { due: Date })[]> {
      const found = PRIORITIES.map(async (priority) => {
        const place = { 'job.lane': lane, 'job.priority': priority };
        const first = await jobs
          .aggregate<{ _id: string; due: Date }>(
            [
              { $match: { ...place, 'job.due': IS_OPEN } },
              { $sort: { 'job.lane': 1, 'job.priority': 1, 'job.owner': 1, 'job.due': 1 } },
              { $group: { _id: '$job.owner', due: { $first: '$job.due' } } },
            ],
            { hint: JOB_INDEXES.due.options.name },
          )
          .toArray();
        return first.map(({ _id: owner, due }) => ({ priority, owner, due }));
      });
      return (await Promise.all(found)).flat();
    },

    /** The numbers of jobs of a lane and priority, and the time since the first of them was accepted. */
    async depth(lane: string, priority: Priority) {
      const place = { 'job.lane': lane, 'job.priority': priority };
      const [open, waiting, first, deadLetters] = await Promise.all([
        jobs.countDocuments({ ...place, 'job.due': IS_OPEN }),
        jobs.countDocuments({ ...place, 'job.due': { ...IS_OPEN, $lte: new Date() } }),
        jobs.findOne(
          { ...place, 'job.due': IS_OPEN },
          { sort: { 'job.since': 1 }, projection: { 'job.since': 1 }, hint: JOB_INDEXES.since.options.name },
        ),
        jobs.countDocuments({ ...place, 'job.dead.at': IS_OPEN }),
      ]);
      const oldestMs = Math.max(0, Date.now() - (first?.job?.since.getTime() ?? Date.now()));
      return { lane, priority, waiting, inFlight: Math.max(0, open - waiting), oldestMs, deadLetters };
    },

    async deadLetters(limit: number, after?: { at: Date; id: string }): Promise<D[]> {
      const later = after && {
        $or: [{ 'job.dead.at': { $gt: after.at } }, { 'job.dead.at': after.at, _id: { $gt: after.id } }],
      };
      const found = await jobs
        .find({ 'job.dead.at': IS_OPEN, ...later }, { sort: { 'job.dead.at': 1, _id: 1 }, limit })
        .toArray();
      return found as unknown as D[];
    },

    deadLetter: async (id: string) =>
      (await jobs.findOne({ _id: id, 'job.dead.at': IS_OPEN })) as unknown as D | null,

    /** Makes a dead letter due again, with all its attempts. Returns whether it was there. */
    async replay(id: string): Promise<boolean> {
      const due = { 'job.due': new Date(), 'job.attempts': 0, 'job.holder': null };
      const update = { $set: { ...kind.reset, ...due }, $unset: { 'job.dead': '' }, $inc: { version: 1 } };
      const { matchedCount } = await jobs.updateOne({ _id: id, 'job.dead.at': IS_OPEN }, update as never);
      return matchedCount === 1;
    },

    /** Forgets dead letters; their documents stay. Returns their number. */
    async forget(of: { id: string } | { lane?: string }): Promise<number> {
      const which = 'id' in of ? { _id: of.id } : of.lane === undefined ? {} : { 'job.lane': of.lane };
      const ended = { $set: { job: null } };
      return (await jobs.updateMany({ ...which, 'job.dead.at': IS_OPEN }, ended)).modifiedCount;
    },
  };
}

/** The changes of the state of a job; null when it has ended. */
function stateAfter(outcome: Outcome, attempts: number | undefined, now: Date): Partial<JobState> | null {
  const free = { holder: null };
  switch (outcome.result) {
    case 'dead':
      return { ...free, due: null, attempts: outcome.attempts, dead: { at: now, error: outcome.error } };
    case 'failed':
    case 'postponed':
      return { ...free, due: new Date(now.getTime() + outcome.retryInMs), ...omitUndefined({ attempts }) };
    default:
      return null;
  }
}

/** The update that makes the change of each document, by its id. */
function settling(ends: ReadonlyMap<string, object>, applied: Expressions = {}) {
  // Literal, since the response of an endpoint may begin with a dollar sign.
  const end = { $getField: { field: '$_id', input: { $literal: Object.fromEntries(ends) } } };
  const job = { $cond: [{ $eq: ['$$end.job', null] }, null, { $mergeObjects: ['$job', '$$end.job'] }] };
  const changed = { $mergeObjects: ['$$ROOT', '$$end.set', { ...applied, job }] };
  const withChange = { $let: { vars: { change: '$$end.change' }, in: changed } };
  return [{ $replaceWith: { $let: { vars: { end }, in: withChange } } }];
}
