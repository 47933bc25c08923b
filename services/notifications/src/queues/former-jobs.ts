import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import type { DocumentCollection } from '@gatehouse/data/collection';
import type { Database } from '@gatehouse/data/database';
import { EPOCH, type JobState } from '@gatehouse/data/job-document';
import type { NatsBroadcast } from '@gatehouse/events/nats-broadcast';
import { DELIVERIES, LANE as DELIVERY_LANE } from '../webhooks/delivery-store.ts';

const IS_OPEN = { check_at: { $gt: EPOCH } };
const STREAM = 'NOTIFICATIONS_DEAD_LETTERS';
/** While replicas of the former release may run beside this one. */
const EVERY_MS = 30_000;
const FOR_MS = 3_600_000;

type FormerLetter = {
  job: {
    id: string;
    at: string | Date;
    priority: JobState['priority'];
    lane: string;
    data: Record<string, unknown>;
  };
  attempts: number;
  error: string;
  failedAt: string | Date;
};

/**
 * Takes over the jobs and the dead letters of the former release: those of replicas that are being replaced, too, and none that
 * such a replica is working on.
 */
export function createFormerJobs(options: {
  connection: Database['connection'];
  nats: NatsBroadcast['connection'] | undefined;
  logger: Logger;
}) {
  const { connection, nats, logger } = options;
  const collectionOf = (name: string) => connection.collection(name) as unknown as DocumentCollection;
  const until = performance.now() + FOR_MS;

  async function takeOverOpen(): Promise<void> {
    const isFree = (field: string) => ({ $or: [{ [field]: null }, { [field]: { $lte: new Date() } }] });
    await collectionOf('notifications').updateMany(
      { ...IS_OPEN, status: { $in: ['queued', 'sending'] }, ...isFree('lease_until') },
      [
        {
          $set: {
            job: stateOf({
              lane: '$type',
              priority: '$priority',
              owner: '$sender',
              due: '$due_at',
              attempts: '$job_attempts',
            }),
          },
        },
        { $unset: ['check_at', 'sender', 'due_at', 'job_attempts', 'holder', 'lease_until'] },
      ],
    );
    const deliveries = collectionOf(DELIVERIES);
    for (const webhook of await deliveries.distinct('webhook', IS_OPEN)) {
      const found = await collectionOf('webhooks').findOne({ _id: String(webhook) });
      const { owner, basis } = Object(found) as { owner?: string; basis?: { owner: string | null } | null };
      const by = { $literal: basis?.owner ?? owner ?? String(webhook) };
      await deliveries.updateMany({ ...IS_OPEN, webhook, status: 'pending', ...isFree('leased_until') }, [
        {
          $set: {
            job: stateOf({
              lane: DELIVERY_LANE,
              priority: 'normal',
              owner: by,
              due: '$next_attempt_at',
              attempts: '$begun',
            }),
          },
        },
        { $unset: ['check_at', 'begun', 'holder', 'leased_until', 'run'] },
      ]);
    }
    const reports = collectionOf('reports');
    for await (const { _id, job_id: job } of reports.find(
      { ...IS_OPEN, status: { $in: ['queued', 'running'] } },
      { projection: { job_id: 1 } },
    )) {
      const state = await collectionOf('job_attempts').findOne({ _id: `reports.${job}` });
      const { leased_until: leased, attempts = 0 } = Object(state) as {
        leased_until?: Date | null;
        attempts?: number;
      };
      if (leased && leased > new Date()) continue;
      await reports.updateOne({ _id, ...IS_OPEN }, [
        {
          $set: {
            job: stateOf({ lane: 'all', priority: 'normal', owner: '$requester', due: new Date(), attempts }),
          },
        },
        { $unset: ['check_at', 'job_id'] },
      ]);
    }
  }

  async function takeOverLetter({ job, attempts, error, failedAt }: FormerLetter): Promise<void> {
    const { notification, report } = job.data;
    const [name, id] = notification === undefined ? ['reports', report] : ['notifications', notification];
    const { lane, priority } = job;
    const place = { lane, priority, owner: 'unknown', since: new Date(job.at), attempts };
    const state: JobState = { ...place, due: null, holder: null, dead: { at: new Date(failedAt), error } };
    const documents = collectionOf(String(name));
    const { matchedCount } = await documents.updateOne(
      { _id: String(id), status: 'failed', 'job.due': { $exists: false } },
      { $set: { job: state } },
    );
    // The former release stores the letter before it marks its document.
    if (matchedCount === 0 && (await documents.findOne({ _id: String(id), ...IS_OPEN })) !== null)
      throw new Error('The job of a dead letter has not ended yet.');
  }

  async function takeOverDead(): Promise<void> {
    const letters = collectionOf('dead_letters');
    for await (const letter of letters.find({})) {
      await takeOverLetter(letter as unknown as FormerLetter);
      await letters.deleteOne({ _id: letter._id });
    }
    const client = nats?.();
    if (client) await takeMessages(client, (letter) => takeOverLetter(letter as FormerLetter));
  }

  const task = createPeriodicTask({
    everyMs: () => (performance.now() < until ? EVERY_MS : 86_400_000),
    async run() {
      await takeOverOpen();
      await takeOverDead();
    },
    immediately: true,
    onError: (error) =>
      logger.warn({ err: error }, 'jobs of the former release could not be taken over; trying again'),
  });
  return { prepare: takeOverOpen, takeOverDead, start: task.start, stop: task.stop };
}

function stateOf(of: Record<'lane' | 'priority' | 'owner' | 'due' | 'attempts', unknown>) {
  const orElse = (value: unknown, fallback: unknown) => ({ $ifNull: [value, fallback] });
  return {
    ...of,
    owner: orElse(of.owner, 'unknown'),
    due: orElse(of.due, '$check_at'),
    attempts: orElse(of.attempts, 0),
    since: '$created_at',
    holder: null,
  };
}

/** Passes on the messages of the stream, each of which is deleted when it has been handled. Ends at once if there is no such stream. */
export async function takeMessages(
  nats: NonNullable<ReturnType<NatsBroadcast['connection']>>,
  handle: (value: unknown) => Promise<void>,
): Promise<void> {
  type Response = { message?: { seq: number; data: string } };
  const request = async (action: string, query: object) =>
    (await nats.request(`$JS.API.STREAM.MSG.${action}.${STREAM}`, JSON.stringify(query))).json<Response>();
  for (let seq = 1; ; ) {
    const { message } = await request('GET', { seq, next_by_subj: '>' });
    if (message === undefined) return;
    await handle(JSON.parse(Buffer.from(message.data, 'base64').toString()));
    await request('DELETE', { seq: message.seq });
    seq = message.seq + 1;
  }
}
