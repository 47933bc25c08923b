import { ServiceError } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask, type PeriodicTask } from '@gatehouse/core/periodic';
import { changeStatus, type OrderStore } from './order.ts';

const EVERY_MS = 60_000;
const BATCH = 100;
/** Ids are in the order of time: the oldest ones come first. */
const OLDEST_PENDING = {
  conditions: [{ field: 'status', operator: 'eq', values: ['pending'] }],
  sort: { field: 'id', descending: false },
} as const;

/** Cancels orders that have been pending for so many hours, so that nobody holds stock for ever; runs every minute. */
export function createOrderExpiry(options: {
  store: Pick<OrderStore, 'byOffset' | 'update'>;
  hours: number;
  logger: Logger;
}): PeriodicTask {
  const { store, hours, logger } = options;
  const change = { status: 'cancelled', note: `Not confirmed within ${hours} hours.` } as const;

  /** Returns whether the order is no longer pending. */
  async function cancel(id: string): Promise<boolean> {
    try {
      await store.update(
        id,
        (order) => {
          if (order.status !== 'pending') throw new ServiceError('conflict', 'It is not pending any more.');
          return changeStatus(order, change, new Date());
        },
        undefined,
      );
      return true;
    } catch (error) {
      if (error instanceof ServiceError && error.kind === 'conflict') return true;
      logger.warn({ err: error, order: id }, 'an order has not expired; trying again');
      return false;
    }
  }

  return createPeriodicTask({
    async run(signal) {
      const before = new Date(Date.now() - hours * 3_600_000);
      for (let offset = 0, isFull = true; isFull && !signal.aborted; ) {
        const { items } = await store.byOffset(OLDEST_PENDING, { limit: BATCH, offset });
        const due = items.filter(({ createdAt }) => createdAt <= before);
        for (const { id } of due) {
          if (signal.aborted) return;
          // Orders that stay pending are skipped.
          if (!(await cancel(id))) offset += 1;
        }
        isFull = due.length === BATCH;
      }
    },
    everyMs: EVERY_MS,
    immediately: true,
    onError: (error) => logger.warn({ err: error }, 'orders were not looked through; trying again'),
  });
}
