import type { IndexDefinition } from '@gatehouse/data/collection';
import { MAX_QUERY_MS } from '@gatehouse/data/database';
import type { NotificationStatus, NotificationType } from '@gatehouse/domain/notification-fields';
import type { Connection } from 'mongoose';
import { COLLECTION } from './notification-document.ts';

/** Holds all that is counted, so that no document is read. */
export const COUNTS_INDEX = {
  fields: { created_at: 1, type: 1, status: 1 },
  options: { name: 'counts' },
} as const satisfies IndexDefinition;

/** The notifications that were accepted in the interval beginning at `start`. */
export type NotificationCount = {
  start: Date;
  type: NotificationType;
  status: NotificationStatus;
  count: number;
};

export type CountNotifications = (query: {
  interval: 'minute' | 'hour' | 'day';
  from: Date;
  to: Date;
}) => Promise<NotificationCount[]>;

/** Counts notifications by when they were accepted, with the type and the status that they have now. */
export function createNotificationCounts(connection: Connection): CountNotifications {
  return async ({ interval: unit, from, to }) => {
    const start = { $dateTrunc: { date: '$created_at', unit } };
    const groups = await connection
      .collection(COLLECTION)
      .aggregate<{ _id: Omit<NotificationCount, 'count'>; count: number }>(
        [
          { $match: { created_at: { $gte: from, $lt: to } } },
          { $group: { _id: { start, type: '$type', status: '$status' }, count: { $sum: 1 } } },
        ],
        { hint: COUNTS_INDEX.options.name, maxTimeMS: MAX_QUERY_MS },
      )
      .toArray();
    return groups.map(({ _id, count }) => ({ ..._id, count }));
  };
}
