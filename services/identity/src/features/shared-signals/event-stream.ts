/** RFC 8935 and RFC 8936, as Shared Signals 1.0 §6.1 names them. */
export const PUSH = 'urn:ietf:rfc:8935';
export const POLL = 'urn:ietf:rfc:8936';

/** Shared Signals 1.0 §8.1.2. */
export const STATUSES = ['enabled', 'paused', 'disabled'] as const;
export type StreamStatus = (typeof STATUSES)[number];

/** Shared Signals 1.0 §8.1.1: no receiver that keeps this interval gets a 429 for its verifications. */
export const MIN_VERIFICATION_SECONDS = 60;

/** The stream of events to one application. */
export type EventStream = {
  id: string;
  clientId: string;
  /** The owner and the consent epoch of the application: another owner has no right to it. */
  owner: string | null;
  consentEpoch: number;
  /** The credential with which it was configured, and the giver of that; undefined for one of the operator. */
  credentialId: string;
  given: { by: string; epoch: number } | undefined;
  /** Of a stream that is sent; the value of the Authorization header is sealed. */
  push: { url: string; authorization: string | undefined } | undefined;
  eventsRequested: readonly string[];
  description: string | undefined;
  status: StreamStatus;
  /** How often the transmitter has paused and resumed the stream: odd while it is paused by that. */
  turns: number;
  /** The application's reason for the status. */
  reason: string | undefined;
  createdAt: Date;
};

/** The fields that the application sets. */
export type StreamSettings = Pick<EventStream, 'push' | 'eventsRequested' | 'description'>;
