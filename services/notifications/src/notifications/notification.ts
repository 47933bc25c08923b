import { type FieldProblem, ServiceError } from '@gatehouse/core/errors';
import {
  date,
  type EntityOf,
  id,
  type ListFieldOf,
  listOf,
  number,
  oneOf,
  text,
} from '@gatehouse/domain/fields';
import type { EarlierCreation, IdempotencyKey } from '@gatehouse/domain/idempotency-key';
import type { IfVersion } from '@gatehouse/domain/if-version';
import type { ListSource } from '@gatehouse/domain/list-query';
import {
  NOTIFICATION_PRIORITIES,
  NOTIFICATION_STATUSES,
  NOTIFICATION_TYPES,
  type NotificationPriority,
} from '@gatehouse/domain/notification-fields';

/**
 * `unknown`: the provider may have accepted the message, but the process died, or the response was lost. If another attempt
 * follows, the recipient may get the message twice.
 */
export const ATTEMPT_OUTCOMES = ['running', 'accepted', 'failed', 'rejected', 'unknown'] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

export const NOTIFICATION = {
  id: id(),
  /** The recipient. */
  userId: text().list(),
  /** The subject of an email; by default the first line of the message. */
  subject: text().optional(),
  message: text(),
  type: oneOf(NOTIFICATION_TYPES).list(),
  priority: oneOf(NOTIFICATION_PRIORITIES).list(),
  status: oneOf(NOTIFICATION_STATUSES).list({ mostCommon: 'sent' }),
  /** Why it failed or was cancelled, or what its last attempt ran into. */
  reason: text().default(null),
  /** The last of them. */
  attempts: listOf({
    startedAt: date(),
    endedAt: date().default(null),
    outcome: oneOf(ATTEMPT_OUTCOMES),
    /** The error, without the address of the recipient. */
    error: text().default(null),
    /** The id that the provider gave the message. */
    providerId: text().default(null),
  }),
  version: number().default(0),
  createdAt: date().list(),
  updatedAt: date(),
};
export type Notification = EntityOf<typeof NOTIFICATION>;
export type NotificationAttempt = Notification['attempts'][number];

/** The fields that lists of notifications are sorted and filtered by. */
export type NotificationField = ListFieldOf<typeof NOTIFICATION>;

export type NewNotification = Pick<Notification, 'userId' | 'message' | 'type'> &
  Partial<Pick<Notification, 'subject' | 'priority'>>;
export type NotificationChanges = { status?: 'cancelled'; priority?: NotificationPriority };

/** Somebody on whom a notification rests, and the account behind that as it was when the notification was accepted. */
export type Sender = {
  /** A person; or an application that is trusted. */
  id: string;
  /** Null where identity could not say: then the present role alone counts. */
  account: {
    /** The person, or the owner of the application; null if nobody owns it. */
    owner: string | null;
    /** The authority epoch of the owner. */
    authority: number;
  } | null;
};

/** The store as the use cases need it. Its lists are of all notifications or, with `within`, of those to one user. */
export type NotificationStore = ListSource<NotificationField, Notification> & {
  within(userId: string): ListSource<NotificationField, Notification>;
  findById(id: string, userId?: string): Promise<Notification | undefined>;
  /** The notification that was created with a key, as it is now. */
  findByKey(key: IdempotencyKey): Promise<EarlierCreation<Notification> | undefined>;
  /** Stores it with its key and who sends it, and announces its job. Throws `conflict` if the key is taken. */
  add(
    notification: Notification,
    by: { sender: string; senders?: readonly Sender[] | undefined; key: IdempotencyKey | undefined },
  ): Promise<void>;
  /**
   * Calls `decide` with the current notification, and announces its job if its priority changes. Throws `not_found`,
   * `precondition_failed`, and what `decide` throws.
   */
  update(
    id: string,
    decide: (current: Notification) => Notification,
    ifVersion: IfVersion,
  ): Promise<Notification>;
  /**
   * Removes the recipient, text, reasons and attempts from the notifications to a person, and cancels those that wait. The
   * rest is kept for counting.
   */
  makeAnonymous(userId: string): Promise<void>;
};

export const MAX_MESSAGE_LENGTH = 4096;
export const MAX_SUBJECT_LENGTH = 200;

/** The problems of the text of a new notification. */
export function textProblems({ subject, message, type }: NewNotification): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const isWithin = (text: string, max: number) => [...text].length <= max && /\S/.test(text);
  if (!isWithin(message, MAX_MESSAGE_LENGTH)) {
    const expected = `must have 1 to ${MAX_MESSAGE_LENGTH} characters, not all of them blank`;
    problems.push({ field: 'message', message: expected });
  }
  if (subject === undefined) return problems;
  if (type !== 'email') problems.push({ field: 'subject', message: 'is for emails only' });
  else if (!isWithin(subject, MAX_SUBJECT_LENGTH) || /[\p{Cc}\u2028\u2029]/u.test(subject)) {
    const expected = `must be one line of 1 to ${MAX_SUBJECT_LENGTH} characters, not all of them blank`;
    problems.push({ field: 'subject', message: expected });
  }
  return problems;
}

/** Throws `conflict` unless the notification is queued. */
export function change(current: Notification, { status, priority }: NotificationChanges): Notification {
  if (current.status === 'cancelled' && status === 'cancelled') return current;
  if (current.status !== 'queued') {
    throw new ServiceError('conflict', `This notification is not queued any more, it is ${current.status}.`);
  }
  return { ...current, status: status ?? current.status, priority: priority ?? current.priority };
}

/** The state of a notification that has just been accepted. */
export const ACCEPTED = { status: 'queued', reason: null, attempts: [], version: 1 } as const;

/** A notification as it was when it was accepted. */
export function asAccepted(notification: Notification, priority: NotificationPriority): Notification {
  return { ...notification, ...ACCEPTED, priority, updatedAt: notification.createdAt };
}
