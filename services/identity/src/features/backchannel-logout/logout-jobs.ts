import { newId } from '@gatehouse/core/ids';
import { defineCollection } from '@gatehouse/data/collection';
import { JOB_INDEXES, type JobDocument, type JobState, newJob } from '@gatehouse/data/job-document';
import type { JobKind } from '@gatehouse/events/job-kind';
import type { Connection } from 'mongoose';
import type { Logout } from '../../core/oidc/epochs/sign-outs.ts';

export type LogoutDocument = JobDocument & {
  client_id: string;
  account_id: string;
  sid: string;
  consent_epoch: number;
  expires_at: Date;
};

export const LOGOUTS = 'logout_notifications';
export const LANE = 'applications';

/** After this time nobody is notified any more. */
const KEPT_MS = 86_400_000;

/** The jobs that notify applications of sign-outs; defines their collection on the connection. */
export function createLogoutJobs(connection: Connection): {
  kind: JobKind<LogoutDocument>;
  /** Durable when it resolves to the job. */
  add(logout: Logout, owner: string): Promise<JobState>;
} {
  const { due, since, dead } = JOB_INDEXES;
  const logouts = defineCollection<LogoutDocument>(connection, LOGOUTS, [
    ...[due, since, dead],
    { fields: { expires_at: 1 } },
  ]);
  return {
    kind: {
      collection: connection.collection(LOGOUTS),
      noun: 'logout',
      mayEndProcess: false,
      // Nothing is left to be done with one that has ended.
      changesOf: (_job, { outcome, now }) => ({ set: 'retryInMs' in outcome ? {} : { expires_at: now } }),
    },
    async add({ clientId, accountId, sid, consentEpoch }, owner) {
      const job = newJob({ lane: LANE, priority: 'normal', owner });
      const of = { client_id: clientId, account_id: accountId, sid, consent_epoch: consentEpoch };
      const expiresAt = new Date(Date.now() + KEPT_MS);
      await logouts.insertOne({ _id: newId('lgt'), ...of, expires_at: expiresAt, job });
      return job;
    },
  };
}
