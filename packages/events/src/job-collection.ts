import { newId } from '@gatehouse/core/ids';
import {
  IS_OPEN,
  JOB_INDEXES,
  type JobDocument,
  type JobState,
  PRIORITIES,
  type Priority,
} from '@gatehouse/data/job-document';
import type { Job } from './job.ts';
import { createDeadLetters } from './job-dead-letters.ts';
import { type JobKind, type Jobs, writeOptions } from './job-kind.ts';
import { createSettlement } from './job-settlement.ts';
import type { OwnerJobs } from './owner-turns.ts';

/** The number of jobs that may be claimed, by their owners. */
export type Wanted = OwnerJobs & { max: number };

export type JobCollection<D extends JobDocument, R> = ReturnType<typeof createJobCollection<D, R>>;

/** Claims and settles the jobs of a queue, many with one command. */
export function createJobCollection<D extends JobDocument, R>(queue: string, kind: JobKind<D, R>) {
  const { collection, mayEndProcess } = kind;
  // The driver's types do not know the paths of these documents.
  const jobs = collection as unknown as Jobs;
  const how = writeOptions(kind);

  const jobOf = (document: D, holder: string) => toJob(queue, document, holder);
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
      const due = (await findDue(jobs, lane, wanted, mayEndProcess)) as unknown as D[];
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
      mayEndProcess && (await findInterrupted(jobs, lane, except)) !== null,

    /** Claims such a job; undefined if there is none. */
    async claimInterrupted(
      lane: string,
      except: ReadonlyMap<string, unknown>,
      leaseMs: number,
    ): Promise<Job<D> | undefined> {
      const found = await findInterrupted(jobs, lane, except);
      if (found === null) return undefined;
      return (await claimDocuments(newClaim([found as unknown as D]), leaseMs))[0];
    },

    /** Prolongs the leases of these jobs. Returns those that are gone, have ended or were claimed by somebody else. */
    renew: (held: readonly Job<D>[], leaseMs: number) => renewLeases(jobs, held, leaseMs, how),

    /** Records how an attempt has ended. Changes nothing if somebody else has claimed the job. */
    settle: createSettlement(jobs, kind),

    /** The owners of open jobs of a lane, and when the first of each is due. */
    dueTimes: (lane: string) => dueTimes(jobs, lane),

    /** The numbers of jobs of a lane and priority, and the time since the first of them was accepted. */
    depth: (lane: string, priority: Priority) => depthOf(jobs, lane, priority),

    ...createDeadLetters(jobs, kind),
  };
}

function toJob<D extends JobDocument>(queue: string, document: D, holder: string): Job<D> {
  const { lane, priority, owner, attempts, traceparent } = document.job as JobState;
  const place = { queue, lane, priority, owner, traceparent };
  return { id: document._id, ...place, attempt: attempts + 1, holder, document };
}

/** The jobs that are due, of each wanted owner in the order of their times. */
async function findDue(jobs: Jobs, lane: string, wanted: readonly Wanted[], mayEndProcess: boolean) {
  // A job that was interrupted and may end its process is claimed by claimInterrupted() instead.
  const free = {
    'job.due': { ...IS_OPEN, $lte: new Date() },
    ...(mayEndProcess ? { 'job.holder': null } : {}),
  };
  const found = wanted.map(({ priority, owner, max }) =>
    jobs
      .find(
        { 'job.lane': lane, 'job.priority': priority, 'job.owner': owner, ...free },
        { sort: { 'job.due': 1 }, limit: max },
      )
      .hint(JOB_INDEXES.due.options.name)
      .toArray(),
  );
  return (await Promise.all(found)).flat();
}

/** A job of the lane whose attempt never ended. */
function findInterrupted(jobs: Jobs, lane: string, except: ReadonlyMap<string, unknown>) {
  return jobs.findOne(
    {
      _id: { $nin: [...except.keys()] },
      ...{ 'job.lane': lane, 'job.due': { ...IS_OPEN, $lte: new Date() } },
      'job.holder': { $type: 'string' },
    },
    { sort: { 'job.due': 1 }, hint: JOB_INDEXES.held.options.name },
  );
}

async function renewLeases<D extends JobDocument>(
  jobs: Jobs,
  held: readonly Job<D>[],
  leaseMs: number,
  how: ReturnType<typeof writeOptions>,
): Promise<Job<D>[]> {
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
}

async function dueTimes(jobs: Jobs, lane: string): Promise<(OwnerJobs & { due: Date })[]> {
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
}

async function depthOf(jobs: Jobs, lane: string, priority: Priority) {
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
}
