/** A message to one person, in plain text. */
export type Message = {
  /** The id of the notification: the same in every attempt. */
  id: string;
  /** The subject of an email that has one. */
  subject?: string | undefined;
  text: string;
  isUrgent: boolean;
};

/**
 * Sends messages of one kind to addresses of type A.
 *
 * `send` resolves when the provider has accepted the message, and rejects with a ProviderError otherwise; whatever else it
 * rejects with is a fault of ours.
 */
export type Provider<A> = {
  send(message: Message, address: A, signal: AbortSignal): Promise<{ providerId: string | null }>;
  /** Whether the provider can be used, found out without sending anything; throws a ProviderError. */
  check(signal: AbortSignal): Promise<void>;
  stop(): void;
};

/**
 * - `unreachable`: the provider was given nothing, because there is no connection, or it refuses our credentials. Nothing
 *   is wrong with the message.
 * - `failing`: the provider is in trouble, and may have accepted the message if the error says so.
 * - `temporary`: this message was not accepted, and may be later.
 * - `throttled`: the provider wants fewer messages, for `retryAfterMs` if it said so.
 * - `rejected`: the provider will not accept this message, however often it is tried.
 * - `gone`: there is nobody at this address any more.
 */
export type ProviderErrorKind = 'unreachable' | 'failing' | 'temporary' | 'throttled' | 'rejected' | 'gone';

/** Its message is shown to those who send notifications: it has neither the address nor the text. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly kind: ProviderErrorKind;
  /** Whether the provider may have accepted the message all the same. */
  readonly mayBeAccepted: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: ProviderErrorKind,
    message: string,
    options: ErrorOptions & { mayBeAccepted?: boolean; retryAfterMs?: number | undefined } = {},
  ) {
    super(message, options);
    this.kind = kind;
    this.mayBeAccepted = options.mayBeAccepted ?? false;
    this.retryAfterMs = options.retryAfterMs;
  }
}
