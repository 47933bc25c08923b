import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { createBatches } from '@gatehouse/data/batches';
import type { JobDocument, JobState } from '@gatehouse/data/job-document';
import type { Job, Outcome } from './job.ts';
import { type Expressions, type JobKind, type Jobs, writeOptions } from './job-kind.ts';

const MAX_BATCH = 500;

/** Returns a function that records how an attempt has ended, many with one command. It changes nothing if somebody else has the job. */
export function createSettlement<D extends JobDocument, R>(jobs: Jobs, kind: JobKind<D, R>) {
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
      await jobs.bulkWrite(operations as never, { ordered: false, ...writeOptions(kind) });
      return ends.map(() => undefined);
    },
  });

  return (job: Job<D>, outcome: Outcome, result: R | undefined): Promise<void> =>
    settle(endOf(job, outcome, result));
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
