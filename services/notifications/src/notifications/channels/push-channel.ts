import { PermanentError } from '@gatehouse/events/job';
import { LRUCache } from 'lru-cache';
import { type Circuit, createCircuit } from '../../circuit.ts';
import type { PushSubscription } from '../push/push-subscription.ts';
import type { Recipients } from '../recipients.ts';
import { type Channel, currentContacts, messageOf, sendOnce } from './channel.ts';
import { guardedSend } from './guarded-send.ts';
import { type Provider, ProviderError } from './provider.ts';
import type { PushTarget } from './push-provider.ts';

/** Push services whose circuits are remembered; anybody can name any host as one. */
const MAX_HOSTS = 1000;

/**
 * Push, to all subscriptions of the recipient. A message is sent once one of them has it. Two kinds of subscriptions are removed: those
 * that are gone, and those whose credential has been revoked by a later change of the account. The revocation itself may have been missed,
 * since it is forgotten once the tokens that it ends have expired. Each push service has a circuit of its own.
 */
export function createPushChannel(options: {
  provider: Provider<PushTarget>;
  recipients: Recipients;
  subscriptionsOf(userId: string): Promise<readonly PushSubscription[]>;
  forget(subscription: PushSubscription): Promise<void>;
}): Channel {
  const { provider, recipients, subscriptionsOf, forget } = options;
  const circuits = new LRUCache<string, Circuit>({ max: MAX_HOSTS });

  function circuitOf({ endpoint }: PushTarget): Circuit {
    const { host } = new URL(endpoint);
    const circuit = circuits.get(host) ?? createCircuit();
    circuits.set(host, circuit);
    return circuit;
  }

  async function activeSubscriptionsOf(userId: string): Promise<PushSubscription[]> {
    const [registered, { epoch }] = await Promise.all([
      subscriptionsOf(userId),
      currentContacts(recipients, userId),
    ]);
    const isRevoked = ({ by }: PushSubscription) => by.epoch.subject < epoch;
    await Promise.all(registered.filter(isRevoked).map(forget));
    return registered.filter((subscription) => !isRevoked(subscription));
  }

  return {
    async send(notification, sending) {
      const subscriptions = await activeSubscriptionsOf(notification.userId);
      if (subscriptions.length === 0) throw new PermanentError('The recipient has no push subscription.');
      /** The subscriptions whose push services may have the message. */
      const given = new Set<PushSubscription>();
      const message = messageOf(notification);
      const results = await Promise.allSettled(
        subscriptions.map((subscription) => {
          const mayBeAccepted = (may: boolean) => {
            if (may) given.add(subscription);
            else given.delete(subscription);
            sending.mayBeAccepted(given.size > 0);
          };
          return guardedSend(circuitOf(subscription), notification.id, () =>
            sendOnce(provider, message, subscription, { signal: sending.signal, mayBeAccepted }),
          ).catch(async (error: unknown) => {
            if (error instanceof ProviderError && error.kind === 'gone') await forget(subscription);
            throw error;
          });
        }),
      );
      const accepted = results.find((result) => result.status === 'fulfilled');
      if (accepted !== undefined) return accepted.value;
      const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
      throw errors.find((error) => !isFinal(error)) ?? new PermanentError(messageOfFirst(errors));
    },
    isOpen: () => false,
    failure: () => undefined,
    check: provider.check,
    stop: provider.stop,
  };
}

/** Whether another attempt at the same subscription would be in vain. */
function isFinal(error: unknown): boolean {
  return error instanceof PermanentError || (error instanceof ProviderError && error.kind === 'gone');
}

function messageOfFirst([error]: unknown[]): string {
  return error instanceof Error ? error.message : 'No push service has accepted it.';
}
