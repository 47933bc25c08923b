import type { IndexDefinition } from '@gatehouse/data/collection';
import type { VersionedDocument } from '@gatehouse/data/versioned-write';
import type {
  AttemptOutcome,
  Notification,
  NotificationPriority,
  NotificationStatus,
  NotificationType,
} from '../notification.ts';

export const COLLECTION = 'notifications';

type StoredAttempt = {
  started_at: Date;
  ended_at: Date | null;
  outcome: AttemptOutcome;
  error: string | null;
  provider_id: string | null;
};

/** As stored. Addresses are never stored here, they belong to users. */
export type NotificationDocument = VersionedDocument & {
  user_id: string;
  /** Who sends it, while it waits; missing in documents of earlier versions. */
  sender?: string | null;
  subject?: string | undefined;
  message: string;
  type: NotificationType;
  priority: NotificationPriority;
  /** The priority when it was accepted. */
  first_priority: NotificationPriority;
  status: NotificationStatus;
  reason: string | null;
  attempts: StoredAttempt[];
  created_at: Date;
  /** The number of the current job. */
  job: number;
  /** The number of attempts of the current job. */
  job_attempts: number;
  /** Who works on it, and until when nobody else may. */
  holder: string | null;
  lease_until: Date | null;
  /** Before this time there is no further attempt. */
  due_at: Date;
  /** When it is checked whether its job is still there; null once it has ended. */
  check_at: Date | null;
  /** Of the request that it came with, when traces are recorded. */
  traceparent?: string;
};

export const NOTIFICATION_FIELDS = {
  user_id: 1,
  subject: 1,
  message: 1,
  type: 1,
  priority: 1,
  status: 1,
  reason: 1,
  attempts: 1,
  created_at: 1,
  job: 1,
} as const;

/** The index of what waits, by its sender; it is partial and contains no others. */
export const SENDERS_INDEX = {
  fields: { type: 1, priority: 1, sender: 1, due_at: 1 },
  options: { name: 'senders', partialFilterExpression: { sender: { $gt: '' } } },
} as const satisfies IndexDefinition;

export function readNotification(document: NotificationDocument): Notification {
  const { _id: id, user_id: userId, subject, message, type, priority, status, reason, job } = document;
  return {
    ...{ id, userId, subject, message, type, priority, status, reason, job },
    attempts: document.attempts.map((attempt) => ({
      startedAt: attempt.started_at,
      endedAt: attempt.ended_at,
      outcome: attempt.outcome,
      error: attempt.error,
      providerId: attempt.provider_id,
    })),
    version: document.version ?? 0,
    createdAt: document.created_at,
    updatedAt: document.updated_at,
  };
}
