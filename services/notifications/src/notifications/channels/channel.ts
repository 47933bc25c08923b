import { ServiceError } from '@gatehouse/core/errors';
import { PermanentError, PostponedError } from '@gatehouse/events/job';
import { type Circuit, createCircuit } from '../../circuit.ts';
import type { Notification } from '../notification.ts';
import type { Contacts, Recipients } from '../recipients.ts';
import { guardedSend } from './guarded-send.ts';
import type { Message, Provider } from './provider.ts';

/** The context in which a channel sends a message. */
export type Sending = {
  signal: AbortSignal;
  /** Called with true right before the provider gets the message, and after the response with whether it may have accepted it. */
  mayBeAccepted(may: boolean): void;
};

/** A way to send notifications of one type. */
export type Channel = {
  /** Resolves when a provider has accepted it; rejects with an error of jobs. */
  send(notification: Notification, sending: Sending): Promise<{ providerId: string | null }>;
  /** Whether nothing can be sent at the moment. */
  isOpen(): boolean;
  /** Since when the provider fails, and how. */
  failure: Circuit['failure'];
  check: Provider<never>['check'];
  stop(): void;
};

/** When the users service is asked again, in milliseconds. */
const USERS_RETRY_MS = 5000;

/** Email or SMS, to the address that users has at the moment. */
export function createContactChannel(options: {
  provider: Provider<string>;
  recipients: Recipients;
  /** The recipient's contact, and what it is called. */
  contact: 'email' | 'phone';
  noun: string;
  circuit?: Circuit;
}): Channel {
  const { provider, recipients, contact, noun, circuit = createCircuit() } = options;
  return {
    async send(notification, sending) {
      const contacts = await currentContacts(recipients, notification.userId);
      const address = contacts[contact];
      if (address === null) throw new PermanentError(`The recipient has no ${noun}.`);
      return guardedSend(circuit, notification.id, () =>
        sendOnce(provider, messageOf(notification), address, sending),
      );
    },
    isOpen: circuit.isOpen,
    failure: circuit.failure,
    check: provider.check,
    stop: provider.stop,
  };
}

/** Throws PostponedError when users cannot be asked, and PermanentError when there is no such user any more. */
export async function currentContacts(recipients: Recipients, userId: string): Promise<Contacts> {
  const contacts = await recipients.contactsOf(userId).catch((error: unknown) => {
    if (!(error instanceof ServiceError)) throw error;
    throw new PostponedError('The address of the recipient cannot be read at the moment.', USERS_RETRY_MS, {
      cause: error,
    });
  });
  if (contacts === undefined) throw new PermanentError('The recipient does not exist any more.');
  return contacts;
}

export function messageOf({ id, subject, message, priority }: Notification): Message {
  return { id, subject, text: message, isUrgent: priority === 'high' };
}

/** Sends, and reports before and after whether the provider may have accepted the message. */
export async function sendOnce<A>(
  provider: Provider<A>,
  message: Message,
  address: A,
  { signal, mayBeAccepted }: Sending,
): ReturnType<Provider<A>['send']> {
  mayBeAccepted(true);
  try {
    return await provider.send(message, address, signal);
  } catch (error) {
    mayBeAccepted((error as { mayBeAccepted?: boolean }).mayBeAccepted ?? true);
    throw error;
  }
}
