import { newId } from '@gatehouse/kit/ids';
import type { IndexDefinition } from './collection.ts';

/** An event waiting in the document that caused it. */
export type OutboxEvent = { id: string; subject: string; at: Date; data: Record<string, unknown> };

/** The index by which documents with undelivered events are found. No other document is in it. */
export const OUTBOX_INDEX = {
  fields: { 'outbox.at': 1 },
  options: { name: 'outbox', partialFilterExpression: { 'outbox.at': { $gt: new Date(0) } } },
} as const satisfies IndexDefinition;

/** Documents that are left of deleted ones, for the sake of their undelivered events only. */
export const TOMBSTONES = { deleted_at: { $gt: new Date(0) } };

/** A new event, to be written into the `outbox` of the document that causes it, in the same write. */
export function outboxEvent(subject: string, data: Record<string, unknown>): OutboxEvent {
  return { id: newId('evt'), subject, at: new Date(), data };
}
