import { derivedId } from '@gatehouse/core/ids';
import {
  date,
  type EntityOf,
  id,
  type ListFieldOf,
  listOf,
  number,
  oneOf,
  text,
} from '@gatehouse/domain/fields';
import { DELIVERY_STATUSES } from '@gatehouse/domain/webhook-fields';

/** The delivery of one event to one webhook. */
export const DELIVERY = {
  id: id(),
  webhook: text().list(),
  /** The event's id, and the fields that decide the sequence of deliveries. */
  event: text(),
  type: text(),
  aggregate: text(),
  sequence: number(),
  status: oneOf(DELIVERY_STATUSES).list(),
  /** Why it failed or was skipped, or the last attempt failed. */
  reason: text().default(null),
  /** When the run began. */
  begunAt: date(),
  /** The last ones. */
  attempts: listOf({
    url: text(),
    startedAt: date(),
    durationMs: number(),
    /** The status and the beginning of the body of the response, if there was one. */
    status: number().default(null),
    body: text().default(null),
    error: text().default(null),
  }),
  /** While it is pending. */
  nextAttemptAt: date().default(null),
  version: number().default(1),
  createdAt: date().list(),
  updatedAt: date(),
};
export type Delivery = EntityOf<typeof DELIVERY>;
export type DeliveryField = ListFieldOf<typeof DELIVERY>;
export type DeliveryAttempt = Delivery['attempts'][number];

/** The result of an attempt, and that of the delivery once it has ended. */
export type DeliveryResult = {
  attempt?: DeliveryAttempt;
  status?: Exclude<Delivery['status'], 'pending'>;
  reason?: string | null;
};

/** The seconds after which attempts follow; the last pause repeats. */
const PAUSES = [5, 60, 300, 1800, 7200, 18_000, 36_000];
/** How long it is tried. */
const GIVE_UP_MS = 3 * 86_400_000;

/**
 * How long to wait after an attempt that has failed, in milliseconds with jitter; undefined when it was the last one.
 *
 * @param options.attempts how many there were
 * @param options.least what the endpoint asks for
 * @param options.scale shortens all times, in tests
 */
export function pauseAfter(
  { begunAt }: Pick<Delivery, 'begunAt'>,
  { attempts, least = 0, scale = 1 }: { attempts: number; least?: number; scale?: number },
): number | undefined {
  const left = begunAt.getTime() + GIVE_UP_MS * scale - Date.now();
  if (left <= 0) return undefined;
  const seconds = PAUSES[Math.min(attempts, PAUSES.length) - 1] ?? 0;
  const pause = Math.max(seconds * 1000 * scale * (1 + Math.random() / 4), least);
  return Math.min(pause, left);
}

/** The id of the delivery of an event to a webhook. */
export const deliveryIdOf = (of: { webhook: string; event: { id: string } }): string =>
  derivedId('dlv', `${of.webhook} ${of.event.id}`);
