import type { NotificationType } from '@gatehouse/domain/notification-fields';
import type { PushSubscriptionStore } from '../push/push-subscription.ts';
import type { Recipients } from '../recipients.ts';
import { createCaptureProvider } from './capture-provider.ts';
import { type Channel, createContactChannel } from './channel.ts';
import { createPushChannel } from './push-channel.ts';
import { createPushProvider, type PushTarget, type VapidSettings } from './push-provider.ts';
import { createSmsProvider } from './sms-provider.ts';
import { createSmtpProvider } from './smtp-provider.ts';

/** The providers of messages by type. A type without a provider cannot be sent. */
export type ProviderSettings = {
  email?: { smtpUrl: string; from: string };
  sms?: { url: string; from: string };
  push?: VapidSettings & { toPrivateNetworks: boolean };
  /** Messages of the other types are written to files in this directory. */
  capture?: { directory: string };
};

/** The channels that the settings name. */
export function createChannels(
  settings: ProviderSettings,
  options: {
    recipients: Recipients;
    subscriptions: Pick<PushSubscriptionStore, 'ofUser' | 'remove'>;
    /** The domain of this deployment. */
    domain: string;
  },
): ReadonlyMap<NotificationType, Channel> {
  const { recipients, subscriptions, domain } = options;
  const { email, sms, push, capture } = settings;
  const captured = <A>(type: NotificationType, show: (address: A) => string) =>
    capture && createCaptureProvider<A>({ ...capture, type, show });

  const channels = new Map<NotificationType, Channel>();
  const mail = email ? createSmtpProvider({ ...email, domain }) : captured<string>('email', String);
  if (mail !== undefined) {
    const contact = { contact: 'email', noun: 'email address' } as const;
    channels.set('email', createContactChannel({ provider: mail, recipients, ...contact }));
  }
  const text = sms ? createSmsProvider(sms) : captured<string>('sms', String);
  if (text !== undefined) {
    const contact = { contact: 'phone', noun: 'phone number' } as const;
    channels.set('sms', createContactChannel({ provider: text, recipients, ...contact }));
  }
  const pushed = push
    ? createPushProvider({ vapid: push, toPrivateNetworks: push.toPrivateNetworks })
    : captured<PushTarget>('push', ({ endpoint }) => endpoint);
  if (pushed !== undefined) {
    const channel = createPushChannel({
      provider: pushed,
      recipients,
      subscriptionsOf: subscriptions.ofUser,
      async forget({ id, userId }) {
        await subscriptions.remove(id, userId);
      },
    });
    channels.set('push', channel);
  }
  return channels;
}
