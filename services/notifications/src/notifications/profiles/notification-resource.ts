import { plainBody, v2Body } from '@gatehouse/api/http/error-bodies';
import { documentedLimits } from '@gatehouse/api/http/schema';
import { bareArray, pageEnvelopeWithPages } from '@gatehouse/api/lists/paging';
import { createEntityProfile, type PropertyShape } from '@gatehouse/api/resource/entity-profile';
import { type ListProfile, type Profile, requestBody } from '@gatehouse/api/resource/profile';
import type { Resource, ResourcePath } from '@gatehouse/api/resource/resource';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { inSnakeCase } from '@gatehouse/domain/fields';
import {
  NOTIFICATION_PRIORITIES,
  NOTIFICATION_STATUSES,
  NOTIFICATION_TYPES,
  type NotificationPriority,
  type NotificationStatus,
  type NotificationType,
} from '@gatehouse/domain/notification-fields';
import { Type } from 'typebox';
import {
  ATTEMPT_OUTCOMES,
  type AttemptOutcome,
  MAX_MESSAGE_LENGTH,
  MAX_SUBJECT_LENGTH,
  type NewNotification,
  NOTIFICATION,
  type Notification,
  type NotificationChanges,
  type NotificationField,
} from '../notification.ts';
import type { NotificationService } from '../notification-service.ts';

export type NotificationTypes = {
  entity: Notification;
  field: NotificationField;
  draft: NewNotification;
  changes: NotificationChanges;
};

const READ = ['read:data', 'read:all'];
const WRITE = ['write:data'];

const NotificationTypeName = Type.Unsafe<NotificationType>({ type: 'string', enum: [...NOTIFICATION_TYPES] });
const Priority = Type.Unsafe<NotificationPriority>({ type: 'string', enum: [...NOTIFICATION_PRIORITIES] });
const Status = Type.Unsafe<NotificationStatus>({
  type: 'string',
  enum: [...NOTIFICATION_STATUSES],
  description:
    'queued until it is sent, also between two attempts; sent once the provider has accepted it, ' +
    'which is final. delivered is reserved: no report on the delivery is taken from providers yet.',
});
const Outcome = Type.Unsafe<AttemptOutcome>({
  type: 'string',
  enum: [...ATTEMPT_OUTCOMES],
  description:
    'unknown: the attempt was interrupted, and the provider may have accepted the message. If another attempt follows, ' +
    'the recipient may get it twice.',
});
const Timestamp = Type.String({ format: 'date-time' });
const NullableTimestamp = Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time' });
const NullableText = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description });

/** Every property of a notification in requests and responses. */
const NOTIFICATION_SHAPES = {
  id: { output: Type.String({ description: 'Opaque.' }) },
  userId: {
    input: Type.String({ description: 'The recipient, whose account has the address that it goes to.' }),
    output: Type.String({ description: 'The recipient.' }),
  },
  subject: {
    input: Type.String({
      ...documentedLimits({ minLength: 1, maxLength: MAX_SUBJECT_LENGTH }),
      description: 'The subject of an email: one line. The default is the first line of the message.',
    }),
    output: Type.Optional(Type.String({ description: 'The subject of an email that has one.' })),
  },
  message: {
    input: Type.String({ description: `1 to ${MAX_MESSAGE_LENGTH} characters of plain text.` }),
    output: Type.String(),
  },
  type: { input: NotificationTypeName, output: NotificationTypeName },
  priority: {
    input: Type.Unsafe<NotificationPriority>({
      ...Priority,
      description: 'The default is normal. High-priority messages are sent first.',
    }),
    output: Priority,
  },
  status: { output: Status },
  reason: {
    output: NullableText(
      'The error of the last attempt, if it failed; or why it was cancelled, if nobody asked for that.',
    ),
  },
  attempts: {
    output: Type.Array(
      Type.Object({
        started_at: Timestamp,
        ended_at: NullableTimestamp,
        outcome: Outcome,
        error: NullableText('The error of the attempt.'),
        provider_id: NullableText('The id that the provider gave the message.'),
      }),
      { description: 'The last 50 attempts to send it.' },
    ),
    show: ({ attempts }) =>
      attempts.map(({ startedAt, endedAt, outcome, error, providerId }) => ({
        started_at: startedAt.toISOString(),
        ended_at: endedAt?.toISOString() ?? null,
        outcome,
        error,
        provider_id: providerId,
      })),
  },
  createdAt: { output: Timestamp },
  updatedAt: { output: Timestamp },
} satisfies Record<string, PropertyShape<Notification>>;

const shaped = createEntityProfile<Notification, typeof NOTIFICATION, keyof typeof NOTIFICATION_SHAPES>(
  NOTIFICATION,
  NOTIFICATION_SHAPES,
  inSnakeCase,
);
export const notificationView = shaped.view('Notification', [
  ...(['id', 'userId', 'subject', 'message', 'type', 'priority', 'status'] as const),
  ...(['reason', 'attempts', 'createdAt', 'updatedAt'] as const),
]);
const newNotification = shaped.body<NewNotification>('NewNotification', {
  required: ['userId', 'message', 'type'],
  optional: ['subject', 'priority'],
  example: {
    user_id: 'usr_06f2k1c8w0h3v5n7q9t1x3z5b7',
    message: 'Your order has been shipped.',
    type: 'email',
    priority: 'high',
  },
});

const changes = requestBody(
  'NotificationChanges',
  Type.Object(
    {
      status: Type.Optional(
        Type.Unsafe<'cancelled'>({
          type: 'string',
          enum: ['cancelled'],
          description: 'The notification is cancelled.',
        }),
      ),
      priority: Type.Optional(Priority),
    },
    documentedLimits({ anyOf: [{ required: ['status'] }, { required: ['priority'] }] }),
  ),
  {
    example: { priority: 'high' },
    read: ({ status, priority }): NotificationChanges => omitUndefined({ status, priority }),
  },
);

const rules: Omit<ListProfile<NotificationTypes>['rules'], 'paging'> = {
  filters: shaped.filters(),
  plain: ['status', 'type', 'priority', 'user_id'],
  sort: { fields: { created_at: 'createdAt' }, by: 'sort', order: 'order' },
};

const latest: Profile<NotificationTypes> = {
  name: 'latest',
  about: 'the list by page',
  errorBody: v2Body,
  list: { rules: { ...rules, paging: 'page' }, envelope: pageEnvelopeWithPages, item: notificationView },
  create: { body: newNotification, response: notificationView },
  read: notificationView,
  update: { method: 'PUT', body: changes, response: notificationView },
  remove: true,
};

const bare: Profile<NotificationTypes> = {
  ...latest,
  name: 'bare',
  about: 'the list as a bare array by offset',
  errorBody: plainBody,
  list: {
    rules: { ...rules, paging: 'offset', legacy: true },
    envelope: bareArray,
    item: { ...notificationView, name: 'NotificationV1' },
  },
};

export const NOTIFICATION_PATHS: readonly ResourcePath<NotificationTypes>[] = [
  { prefix: '/v2/notifications', profiles: [latest] },
  { prefix: '/notifications', profiles: [latest] },
  { prefix: '/api/v1/notifications', profiles: [bare] },
];

const STAFF = 'For editors, admins and trusted applications.';

/** Notifications as a resource. The use cases check the access to each of them. */
export function createNotificationResource(notifications: NotificationService): Resource<NotificationTypes> {
  const staff = { scopes: WRITE, description: STAFF, authorize: notifications.requireStaff };
  return {
    noun: { one: 'a notification', many: 'notifications' },
    idPrefix: 'ntf',
    paths: NOTIFICATION_PATHS,
    operations: {
      list: {
        scopes: READ,
        source: notifications.listFor,
        description: 'People get the notifications sent to them.',
      },
      create: {
        ...staff,
        run: notifications.create,
        findByKey: notifications.findByKey,
        queues: true,
        description: `The notification is queued and sent in the background. ${STAFF}`,
      },
      read: { scopes: READ, run: notifications.read },
      update: {
        ...staff,
        run: notifications.update,
        description: `Cancels a queued notification, or changes its priority; else 409. ${STAFF}`,
      },
      remove: {
        ...staff,
        run: notifications.cancel,
        conflicts: true,
        description: `Cancels a queued notification; else 409. It stays in the lists. ${STAFF}`,
      },
    },
    example: EXAMPLE,
  };
}

const ACCEPTED = new Date('2026-03-01T09:30:00Z');
const EXAMPLE: Notification = {
  id: 'ntf_06f2k1c8w0h3v5n7q9t1x3z5b7',
  userId: 'usr_06f2k1c8w0h3v5n7q9t1x3z5b7',
  subject: undefined,
  message: 'Your order has been shipped.',
  type: 'email',
  priority: 'high',
  status: 'sent',
  reason: null,
  attempts: [
    {
      startedAt: ACCEPTED,
      endedAt: new Date('2026-03-01T09:30:01Z'),
      outcome: 'accepted',
      error: null,
      providerId: null,
    },
  ],
  version: 3,
  createdAt: ACCEPTED,
  updatedAt: new Date('2026-03-01T09:30:01Z'),
};
