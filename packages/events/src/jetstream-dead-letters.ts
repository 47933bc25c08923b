import { JetStreamApiCodes, JetStreamApiError, StorageType, type StoredMsg } from '@nats-io/jetstream';
import { partsOf } from './create-job-queue.ts';
import { publishMessage } from './jetstream-publish.ts';
import { countSubjects, type JetStream, nextMessage } from './jetstream-streams.ts';
import type { Priority } from './job.ts';
import type { DeadLetter } from './job-queue.ts';
import type { DeadLetterStore, StoredLetter } from './job-store.ts';

const streamOf = (service: string) => `${service.toUpperCase()}_DEAD_LETTERS`;

/** One subject for each job, so that a letter is found by its id, and takes the place of an earlier one. */
export function deadLetterStream(service: string) {
  return {
    name: streamOf(service),
    subjects: [`dead-letters.${service}.>`],
    storage: StorageType.File,
    max_msgs_per_subject: 1,
  };
}

/** The dead letters of a queue in the stream of its service. */
export function createJetStreamDeadLetters(options: {
  use: <T>(action: (js: JetStream) => Promise<T>) => Promise<T>;
  service: string;
  queue: string;
}): DeadLetterStore & {
  counts(js: JetStream, lanes: readonly string[]): Promise<(lane: string, priority: Priority) => number>;
} {
  const { use, service, queue } = options;
  const stream = streamOf(service);
  const subjectOf = (priority: string, lane: string, id: string) =>
    `dead-letters.${service}.${queue}.${priority}.${lane}.${id}`;

  return {
    async put(letter) {
      const { priority, lane, id } = letter.job;
      const message = { subject: subjectOf(priority, lane, id), json: JSON.stringify(letter) };
      await use(({ nats }) => publishMessage(nats, message));
    },
    list: (limit, after) =>
      use(async (js) => {
        const letters: StoredLetter[] = [];
        for (let seq = Number(after ?? 0) + 1; letters.length < limit; ) {
          const found = await nextMessage(js, stream, seq, subjectOf('*', '*', '*'));
          if (found === null) break;
          const letter = letterOf(found);
          letters.push(letter);
          seq = Number(letter.position) + 1;
        }
        return letters;
      }),
    find: (id) =>
      use(async ({ manager }) => {
        const found = await manager.streams.getMessage(stream, { last_by_subj: subjectOf('*', '*', id) });
        return found === null ? undefined : letterOf(found);
      }),
    remove: ({ position }) =>
      use(({ manager }) =>
        manager.streams.deleteMessage(stream, Number(position)).catch((error: unknown) => {
          // "no message found"
          if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.NoMessageFound)
            return false;
          throw error;
        }),
      ),
    purge: (lane = '*') =>
      use(async ({ manager }) => {
        const { purged } = await manager.streams.purge(stream, { filter: subjectOf('*', lane, '*') });
        return purged;
      }),
    async counts(js, lanes) {
      const { state } = await js.manager.streams.info(stream);
      if (state.messages === 0) return () => 0;
      const counted = await Promise.all(
        partsOf(lanes).map(async ({ lane, priority }) => {
          // Each letter has a subject of its own.
          const count = await countSubjects(js, stream, subjectOf(priority, lane, '*'));
          return [`${lane}.${priority}`, count] as const;
        }),
      );
      const counts = new Map(counted);
      return (lane, priority) => counts.get(`${lane}.${priority}`) ?? 0;
    },
  };
}

function letterOf(message: StoredMsg): StoredLetter {
  const { job, failedAt, ...rest } = message.json<DeadLetter>();
  return {
    ...rest,
    job: { ...job, at: new Date(job.at) },
    failedAt: new Date(failedAt),
    position: `${message.seq}`,
  };
}
