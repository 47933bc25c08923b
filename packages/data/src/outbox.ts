import { newId } from '@gatehouse/core/ids';
import { currentTraceparent } from '@gatehouse/core/tracing';
import type { IndexDefinition } from './collection.ts';

/** An unpublished event, stored in the document that caused it. */
export type OutboxEvent = {
  id: string;
  subject: string;
  at: Date;
  data: Record<string, unknown>;
  /** The trace context of its cause, when traces are recorded. */
  traceparent?: string | undefined;
};

/** The events of a new document, which has no others. */
export type StoredEvents = { outbox: readonly OutboxEvent[] };

/** The index of documents with unpublished events; it is partial and contains no others. */
export const OUTBOX_INDEX = {
  fields: { 'outbox.at': 1 },
  options: { name: 'outbox', partialFilterExpression: { 'outbox.at': { $gt: new Date(0) } } },
} as const satisfies IndexDefinition;

/** Matches tombstones: what is left of deleted documents until their events are published. */
export const TOMBSTONES = { deleted_at: { $gt: new Date(0) } };

/**
 * A new event, to be stored in the `outbox` of the document that causes it, in the same write.
 *
 * @param id unique among all events of the service
 */
export function outboxEvent(
  subject: string,
  data: Record<string, unknown>,
  id: string = newId('evt'),
): OutboxEvent {
  const traceparent = currentTraceparent();
  return { id, subject, at: new Date(), data, ...(traceparent && { traceparent }) };
}
