import type { IndexDefinition } from './collection.ts';

/** A document with a job: when it is checked whether that is still in its queue, and not any more once it has ended. */
export type JobDocument = { _id: string; created_at: Date; check_at?: Date | null };

/** The index of the documents whose jobs have not ended; it is partial and contains no others. */
export const OPEN_JOBS_INDEX = {
  fields: { check_at: 1 },
  options: { name: 'unended', partialFilterExpression: { check_at: { $gt: new Date(0) } } },
} as const satisfies IndexDefinition;
