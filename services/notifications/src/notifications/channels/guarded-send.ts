import { PermanentError, PostponedError, RetryLaterError } from '@gatehouse/events/job';
import type { Circuit } from '../../circuit.ts';
import { ProviderError } from './provider.ts';

/** The pause before a message is tried again with a provider that cannot be reached, in milliseconds. */
const UNREACHABLE_RETRY_MS = 5000;
/** The pause for a provider that wants fewer messages and does not say how long to wait, in milliseconds. */
const THROTTLED_MS = 10_000;

/**
 * Sends by a provider, unless its circuit is open, and translates its errors to those of jobs. If the provider was given nothing, the
 * message is postponed. If it may have accepted the message, the attempt counts, so that the recipient gets it a limited number of times. A
 * ProviderError with the kind `gone` is passed on.
 */
export async function guardedSend<T>(
  circuit: Circuit,
  messageId: string,
  send: () => Promise<T>,
): Promise<T> {
  const waitMs = circuit.admit();
  if (waitMs !== undefined) {
    throw new PostponedError(circuit.failure()?.error ?? 'The provider is failing.', waitMs);
  }
  try {
    const result = await send();
    circuit.succeeded();
    return result;
  } catch (error) {
    if (error instanceof ProviderError) throw translated(error, circuit, messageId);
    circuit.undecided();
    throw error;
  }
}

function translated(error: ProviderError, circuit: Circuit, messageId: string): Error {
  const { kind, message, retryAfterMs = THROTTLED_MS, mayBeAccepted } = error;
  const options = { cause: error };
  switch (kind) {
    case 'throttled':
      circuit.open(retryAfterMs, message);
      return new RetryLaterError(message, retryAfterMs, options);
    case 'unreachable':
      circuit.failed(messageId, message);
      return new PostponedError(message, UNREACHABLE_RETRY_MS, options);
    case 'failing': {
      const isOpen = circuit.failed(messageId, message);
      return isOpen && !mayBeAccepted ? new PostponedError(message, UNREACHABLE_RETRY_MS, options) : error;
    }
  }
  circuit.succeeded();
  return kind === 'rejected' ? new PermanentError(message, options) : error;
}
