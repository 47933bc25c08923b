import { type Job, PRIORITIES, type Priority } from './job.ts';

/** Where a job belongs. */
export type JobAddress = Pick<Job, 'queue' | 'priority' | 'lane'>;

/** `jobs.{service}.{queue}.{priority}.{lane}` */
export function jobSubject(service: string, { queue, priority, lane }: JobAddress): string {
  return `jobs.${service}.${queue}.${priority}.${lane}`;
}

/** The opposite; undefined for a subject that is not that of a job of this service. */
export function parseJobSubject(service: string, subject: string): JobAddress | undefined {
  const [jobs, owner, queue, priority, lane, ...rest] = subject.split('.');
  if (jobs !== 'jobs' || owner !== service || queue === undefined || lane === undefined) return undefined;
  if (!isPriority(priority) || rest.length > 0) return undefined;
  return { queue, priority, lane };
}

function isPriority(text: string | undefined): text is Priority {
  return (PRIORITIES as readonly (string | undefined)[]).includes(text);
}

/** Throws a TypeError unless it is one word of lower-case letters and digits. */
export function checkWord(what: string, word: string): void {
  if (!/^[a-z][a-z0-9]*$/.test(word)) throw new TypeError(`'${word}' is not a valid name of a ${what}.`);
}
