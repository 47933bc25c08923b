import type { ResourceContext, ResourceParts } from '@gatehouse/api/resource/create-resource-service';
import { mountResource } from '@gatehouse/api/resource/mount-resource';
import { NOTIFICATION_TYPES } from '@gatehouse/domain/notification-fields';
import { isPublicHost } from '@gatehouse/outbound/public-address';
import type { Announce } from '../events/announce.ts';
import type { Owners } from '../events/reading-rights.ts';
import { createChannels } from './channels/create-channels.ts';
import { vapidPublicKey } from './channels/push-provider.ts';
import { notificationJobs, recordedOutcome } from './notification-jobs.ts';
import { createNotificationService } from './notification-service.ts';
import { createNotificationResource, NOTIFICATION_PATHS } from './profiles/notification-resource.ts';
import { createEndedSubscriptions } from './push/ended-subscriptions.ts';
import { createPushResource, mountPushKey, PUSH_PATHS } from './push/push-resource.ts';
import { createPushSubscriptionStore } from './push/push-subscription-store.ts';
import { createRevokedSubscriptions } from './push/revoked-subscriptions.ts';
import { createRecipients } from './recipients.ts';
import { createSenderAuthority } from './sender-authority.ts';
import { ATTEMPT_MS, createSender, RESPONSE_MS, type SendingSettings } from './sending.ts';
import { createNotificationCounts } from './store/notification-counts.ts';
import { createNotificationStore } from './store/notification-store.ts';

export { NOTIFICATION_PATHS, PUSH_PATHS };

const QUEUE = 'messages';
const BACKOFF_MS = { first: 10_000, max: 15 * 60_000 };

/** Notifications: accepting, sending and listing them. */
export function createNotificationsModule(
  { connection, logger, identity, clientOf, queues, revocations }: ResourceContext,
  options: {
    usersUrl: string;
    publicUrl: string;
    sending: SendingSettings;
    lanes: { isPaused(queue: string, lane: string): boolean; count(...of: [string, string, string]): void };
    announce: Announce;
    owners: Pick<Owners, 'find'>;
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

  const queue = queues({
    ...{ name: QUEUE, lanes: NOTIFICATION_TYPES, leaseMs },
    kind: notificationJobs({ connection }),
  });
  const authority = createSenderAuthority(options.owners);
  const store = createNotificationStore(connection, { announce: queue.announce, logger });
  const notifications = createNotificationService({
    store,
    userExists: recipients.exists,
    types: new Set(channels.keys()),
    authority,
  });
  const handler = createSender({ channels, logger, responseTimeoutMs, authority });
  const workers = [...(slots === 0 ? [] : channels)].map(([lane, channel]) =>
    queue.work({
      lane,
      handler,
      slots,
      timeoutMs: responseTimeoutMs + (ATTEMPT_MS - RESPONSE_MS),
      backoffMs,
      paused: () => lanes.isPaused(QUEUE, lane) || channel.isOpen(),
      // Before the end is recorded, so that it is certain.
      async onEnding({ id, document: { user_id } }, outcome, result) {
        if ('retryInMs' in outcome) return;
        const recorded = recordedOutcome(outcome, result);
        if (recorded === 'cancelled') return;
        const status = recorded === 'accepted' ? 'sent' : 'failed';
        const data = { notification_id: id, user_id, type: lane, status };
        await options.announce(`notifications.notification.${status}`, data, id);
      },
      onEnded: (_job, outcome, result) => lanes.count(QUEUE, lane, recordedOutcome(outcome, result)),
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
    // Stopped in the reverse order: the channels after the workers, which use them.
    onRevocation: revokedSubscriptions.add,
    background: [...[stopChannels, revokedSubscriptions, endedSubscriptions, store.keySweeper], ...workers],
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
