import { hash } from 'node:crypto';
import { defineCollection } from '@gatehouse/data/collection';
import { insertNew } from '@gatehouse/data/insert-new';
import { JOB_INDEXES, type JobDocument, type JobState, newJob } from '@gatehouse/data/job-document';
import type { Broadcast } from '@gatehouse/events/broadcast';
import type { JobKind } from '@gatehouse/events/job-kind';
import type { JobQueue, JobQueues } from '@gatehouse/events/job-queue';
import type { Connection } from 'mongoose';
import type { EventStream } from './event-stream.ts';

/** A Security Event Token before it is signed. Its `jti` is the `_id`. */
export type EventDocument = JobDocument & {
  stream_id: string;
  /** The person whom it is about; null for an event about the stream itself. */
  account_id: string | null;
  type: string;
  payload: Record<string, unknown>;
  txn?: string;
  created_at: Date;
  expires_at: Date;
  /** Whether it was delivered or given up. It is kept for a while, in case its cause comes again. */
  done: boolean;
};

export type NewEvent = {
  stream: EventStream;
  /** The id of its cause, for which an event of this type is stored once. */
  cause: string;
  accountId: string | null;
  type: string;
  payload: Record<string, unknown>;
  /** The ID that other events of the cause have in common. */
  txn?: string | undefined;
};

export const EVENTS = 'security_events';
export const LANE = 'receivers';
/** How long an event waits for its receiver, and how long a delivered one is known. */
const KEPT_MS = 3 * 86_400_000;
const KNOWN_MS = 3_600_000;
const WAKE = 'identity.security-events';

export type EventQueue = ReturnType<typeof createEventQueue>;

/** The events that wait for their receivers: jobs while they are to be sent. Writes are durable when they resolve. */
export function createEventQueue(options: {
  connection: Connection;
  queues: JobQueues;
  broadcast: Pick<Broadcast, 'publish' | 'subscribe'>;
}) {
  const { connection, broadcast } = options;
  const { due, since, dead } = JOB_INDEXES;
  const events = defineCollection<EventDocument>(connection, EVENTS, [
    ...[due, since, dead],
    { fields: { expires_at: 1 } },
    { fields: { stream_id: 1, done: 1, created_at: 1 } },
    { fields: { stream_id: 1, account_id: 1, done: 1 } },
  ]);
  const ended = () => ({ done: true, expires_at: new Date(Date.now() + KNOWN_MS) });
  const kind: JobKind<EventDocument> = {
    collection: connection.collection(EVENTS),
    noun: 'security event',
    mayEndProcess: false,
    changesOf: (_job, { outcome }) => ({ set: 'retryInMs' in outcome ? {} : ended() }),
  };
  const queue: JobQueue<EventDocument> = options.queues({ name: 'signals', lanes: [LANE], kind });
  const jobOf = ({ push, status, owner, clientId }: EventStream): JobState | null =>
    push === undefined || status !== 'enabled'
      ? null
      : newJob({ lane: LANE, priority: 'normal', owner: owner ?? clientId });
  const pendingOf = (streamId: string) => ({
    stream_id: streamId,
    done: false,
    expires_at: { $gt: new Date() },
  });

  function announce(streamId: string, job: JobState | null): void {
    if (job !== null) queue.announce(job);
    // A poll that misses it looks again soon.
    else broadcast.publish(WAKE, streamId).catch(() => {});
  }

  return {
    work: queue.work,
    async add(added: readonly NewEvent[]): Promise<void> {
      if (added.length === 0) return;
      const now = new Date();
      const documents = added.map(({ stream, cause, accountId, type, payload, txn }): EventDocument => {
        const _id = hash('sha256', `${stream.id} ${type} ${cause}`, 'base64url');
        const about = {
          account_id: accountId,
          type,
          payload,
          txn: txn ?? hash('sha256', cause, 'base64url'),
        };
        const expires_at = new Date(now.getTime() + KEPT_MS);
        const state = { created_at: now, expires_at, done: false, job: jobOf(stream) };
        return { _id, stream_id: stream.id, ...about, ...state };
      });
      const inserted = await insertNew(events, documents);
      for (const [i, { stream_id, job = null }] of documents.entries())
        if (inserted[i]) announce(stream_id, job);
    },
    /** Sends or holds the waiting events of a stream as its configuration is now. */
    async follow(stream: EventStream): Promise<void> {
      const job = jobOf(stream);
      const state = stream.status === 'disabled' ? ended() : {};
      await events.updateMany(pendingOf(stream.id), { $set: { ...state, job } });
      announce(stream.id, job);
    },
    /** Those that wait longest. */
    waiting: (streamId: string, limit: number) =>
      events.find(pendingOf(streamId), { sort: { created_at: 1, _id: 1 }, limit }).toArray(),
    /**
     * Whether an earlier event about the same person is still to be sent for the first time (Shared Signals 1.0 §8.1.2.1). One that its
     * receiver has not accepted delays no other.
     */
    async hasEarlier({ stream_id, account_id, created_at }: EventDocument): Promise<boolean> {
      if (account_id === null) return false;
      const isFirstAttempt = [
        { 'job.attempts': 0 },
        { 'job.attempts': 1, 'job.holder': { $type: 'string' as const } },
      ];
      const about = { ...pendingOf(stream_id), account_id, created_at: { $lt: created_at } };
      return (await events.findOne({ ...about, $or: isFirstAttempt })) !== null;
    },
    newestOfType: (streamId: string, type: string, limit: number) =>
      events.find({ ...pendingOf(streamId), type }, { sort: { created_at: -1 }, limit }).toArray(),
    async end(streamId: string, ids: readonly string[]): Promise<void> {
      if (ids.length === 0) return;
      await events.updateMany(
        { _id: { $in: [...ids] }, stream_id: streamId },
        { $set: { ...ended(), job: null } },
      );
    },
    removeAll: (streamId: string) => events.deleteMany({ stream_id: streamId }),
    /** The listener is called with the ID of a stream that has new events to be fetched. */
    onWaiting: (listener: (streamId: string) => void) =>
      broadcast.subscribe(WAKE, (streamId) => listener(String(streamId))),
  };
}
