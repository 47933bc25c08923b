import { derivedId } from '@gatehouse/core/ids';
import type { OutboxEvent } from '@gatehouse/data/outbox';

/**
 * Stores the events about a fact of this service. Call it before the fact is recorded, so that none is lost. An event that is announced
 * again is recognized by its subject and the thing that it is about. Durable when it resolves.
 */
export type Announce = (subject: string, data: Record<string, unknown>, about: string) => Promise<void>;

export function createAnnounce(take: (event: OutboxEvent) => Promise<void>): Announce {
  return (subject, data, about) =>
    take({ id: derivedId('evt', `${subject} ${about}`), subject, at: new Date(), data });
}
