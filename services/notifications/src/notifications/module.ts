import type { ResourceContext, ResourceParts } from '@gatehouse/api/resource/create-resource-service';
import { mountResource } from '@gatehouse/api/resource/mount-resource';
import { outboxEvent } from '@gatehouse/data/outbox';
import { createJobPublisher } from '@gatehouse/events/job-publisher';
import { isPublicHost } from '@gatehouse/outbound/public-address';
import type { Announce } from '../events/announce.ts';
import { createChannels } from './channels/create-channels.ts';
import { vapidPublicKey } from './channels/push-provider.ts';
import { NOTIFICATION_TYPES } from './notification.ts';
import { createNotificationJobStates } from './notification-job-states.ts';
import { createNotificationService } from './notification-service.ts';
import { createNotificationResource, NOTIFICATION_PATHS } from './profiles/notification-resource.ts';
import { createEndedSubscriptions } from './push/ended-subscriptions.ts';
import { createPushResource, mountPushKey, PUSH_PATHS } from './push/push-resource.ts';
import { createPushSubscriptionStore } from './push/push-subscription-store.ts';
import { createRevokedSubscriptions } from './push/revoked-subscriptions.ts';
import { createRecipients } from './recipients.ts';
import { createSenderRoundRobin, type JobEventOf } from './sender-round-robin.ts';
import { ATTEMPT_MS, createSender, RESPONSE_MS, type SendingSettings } from './sending.ts';
import { createNotificationAttempts } from './store/notification-attempts.ts';
import { createNotificationCounts } from './store/notification-counts.ts';
import { COLLECTION, type NotificationDocument } from './store/notification-document.ts';
import { createNotificationStore } from './store/notification-store.ts';

export { NOTIFICATION_PATHS, PUSH_PATHS };

const QUEUE = 'messages';
const BACKOFF_MS = { first: 10_000, max: 15 * 60_000 };

/** Notifications: accepting them, sending them, and saying what became of them. */
export function createNotificationsModule(
  { connection, logger, identity, clientOf, queues, revocations }: ResourceContext,
  options: {
    usersUrl: string;
    publicUrl: string;
    sending: SendingSettings;
    lanes: { isPaused(queue: string, lane: string): boolean; count(...of: [string, string, string]): void };
    announce: Announce;
  },
) {
  const { usersUrl, publicUrl, sending, lanes } = options;
  const { providers, slots, backoffMs = BACKOFF_MS, responseTimeoutMs = RESPONSE_MS, leaseMs } = sending;
  const subscriptions = createPushSubscriptionStore(connection);
  const revokedSubscriptions = createRevokedSubscriptions(subscriptions, { logger });
  const endedSubscriptions = createEndedSubscriptions({ store: subscriptions, identity, logger });
  const recipients = createRecipients(clientOf('users', usersUrl));
  const channels = createChannels(providers, {
    recipients,
    subscriptions,
    domain: new URL(publicUrl).hostname,
  });

  const attempts = createNotificationAttempts(connection);
  const jobStates = createNotificationJobStates({
    attempts,
    onOutcome: ({ type }, outcome) => lanes.count(QUEUE, type, outcome),
    onEnding: ({ id, userId, type }, status) =>
      options.announce(
        `notifications.notification.${status}`,
        { notification_id: id, user_id: userId, type, status },
        id,
      ),
  });
  const queue = queues({
    name: QUEUE,
    lanes: NOTIFICATION_TYPES,
    jobStates,
    ...(leaseMs === undefined ? {} : { leaseMs }),
  });
  const jobEvent: JobEventOf = ({ id, job, type, priority }) => ({
    id: `${id}-${job}`,
    subject: queue.subject(priority, type),
    data: { notification: id, job },
  });

  const jobs = createJobPublisher<NotificationDocument>({
    queue,
    collection: connection.collection(COLLECTION),
    projection: { job: 1, type: 1, priority: 1, traceparent: 1 },
    eventOf: ({ _id: id, traceparent, ...job }) => ({
      ...jobEvent({ ...job, id }),
      at: new Date(),
      ...(traceparent && { traceparent }),
    }),
    logger,
    ...sending.republishing,
  });
  const store = createNotificationStore(connection, {
    publish(notification) {
      const { subject, data, id } = jobEvent(notification);
      jobs.publish(outboxEvent(subject, data, id));
    },
    logger,
  });
  const notifications = createNotificationService({
    store,
    userExists: recipients.exists,
    types: new Set(channels.keys()),
  });
  const handler = createSender({ jobStates, channels, logger, responseTimeoutMs });
  const roundRobinOf = createSenderRoundRobin({ attempts, queue: QUEUE, jobEvent });
  const workers = [...(slots === 0 ? [] : channels)].map(([lane, channel]) =>
    queue.work({
      lane,
      handler,
      slots,
      timeoutMs: responseTimeoutMs + (ATTEMPT_MS - RESPONSE_MS),
      backoffMs,
      overtaking: roundRobinOf(lane),
      paused: () => lanes.isPaused(QUEUE, lane) || channel.isOpen(),
    }),
  );
  const stopChannels = {
    start() {},
    async stop() {
      for (const channel of channels.values()) channel.stop();
    },
  };

  const { push } = providers;
  const isAllowedHost = (hostname: string) => push?.toPrivateNetworks === true || isPublicHost(hostname);
  const parts: ResourceParts = {
    routes(app, { mountOptions }) {
      const { authenticate } = mountOptions;
      mountResource(app, createNotificationResource(notifications), mountOptions);
      mountPushKey(app, { publicKey: push && vapidPublicKey(push.privateKey), authenticate });
      mountResource(
        app,
        createPushResource({ store: subscriptions, isAllowedHost, isRevoked: revocations.isRevoked }),
        mountOptions,
      );
    },
    async erase(userId) {
      await subscriptions.removeAllOf(userId);
      await store.makeAnonymous(userId);
    },
    // Stopped in the reverse order: the channels when no worker uses them any more.
    onRevocation: revokedSubscriptions.add,
    background: [
      ...[stopChannels, jobs, revokedSubscriptions, endedSubscriptions, store.keySweeper],
      ...workers,
    ],
  };
  return {
    parts,
    create: notifications.create,
    channels,
    count: createNotificationCounts(connection),
    operated: {
      queue,
      lanes: NOTIFICATION_TYPES,
      failureOf: (lane: string) => channels.get(lane as (typeof NOTIFICATION_TYPES)[number])?.failure(),
    },
  };
}
