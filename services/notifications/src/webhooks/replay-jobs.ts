import type { DocumentCollection } from '@gatehouse/data/collection';
import type { Database } from '@gatehouse/data/database';
import { IS_OPEN, type JobState, newJob } from '@gatehouse/data/job-document';
import type { JobKind } from '@gatehouse/events/job-kind';
import { LANE } from './delivery-store.ts';
import type { ReplayStep } from './replays.ts';
import { deliveryOwnerOf, type Replay, type Webhook } from './webhook.ts';
import { WEBHOOKS, type WebhookDocument } from './webhook-store.ts';

const FAILED = 'Its deliveries could not be made.';

/** The jobs that are replays, which are kept with their webhooks: a webhook that is deleted has none. Their handler notes what it has done. */
export function replayJobs({
  connection,
}: Pick<Database, 'connection'>): JobKind<WebhookDocument, ReplayStep> {
  return {
    collection: connection.collection(WEBHOOKS),
    noun: 'webhook',
    mayEndProcess: false,
    changesOf({ document }, { outcome, result = {}, now }) {
      const end = { endedAt: 'retryInMs' in outcome ? null : now };
      const failed = outcome.result === 'dead' ? { reason: FAILED } : {};
      return { set: { replay: { ...document.replay, ...result, ...end, ...failed } } };
    },
    reset: { 'replay.endedAt': null, 'replay.reason': null },
  };
}

/** Stores a replay and its job. Returns the job; undefined if the webhook is gone or paused, or another replay is under way. */
export async function beginReplay(
  { connection }: Pick<Database, 'connection'>,
  webhook: Webhook,
  replay: Replay,
): Promise<JobState | undefined> {
  const job = newJob({ lane: LANE, priority: 'low', owner: deliveryOwnerOf(webhook) });
  const webhooks = connection.collection(WEBHOOKS) as unknown as DocumentCollection;
  const { matchedCount } = await webhooks.updateOne(
    { _id: webhook.id, status: 'active', 'job.due': { $not: IS_OPEN } },
    { $set: { replay, job } },
  );
  return matchedCount === 1 ? job : undefined;
}
