import type { IndexDefinition } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import type { VersionedDocument } from '@gatehouse/data/versioned-write';
import type { StoredOf } from '@gatehouse/domain/fields';
import { NOTIFICATION, type NotificationPriority } from '../notification.ts';

export const COLLECTION = 'notifications';

/** As stored. Addresses are never stored here, they belong to users. */
export type NotificationDocument = StoredOf<typeof NOTIFICATION> &
  VersionedDocument & {
    /** Who sends it, while it waits; missing in documents of earlier versions. */
    sender?: string | null;
    /** The priority when it was accepted. */
    first_priority: NotificationPriority;
    /** The number of attempts of the current job. */
    job_attempts: number;
    /** Who works on it, and until when nobody else may. */
    holder: string | null;
    lease_until: Date | null;
    /** Before this time there is no further attempt. */
    due_at: Date;
    /** When it is checked whether its job is still there; null once it has ended. */
    check_at: Date | null;
    /** Of the request that it came with, when traces are recorded. */
    traceparent?: string;
  };

export const notifications = createDocumentMapper(NOTIFICATION);

/** The index of what waits, by its sender; it is partial and contains no others. */
export const SENDERS_INDEX = {
  fields: { type: 1, priority: 1, sender: 1, due_at: 1 },
  options: { name: 'senders', partialFilterExpression: { sender: { $gt: '' } } },
} as const satisfies IndexDefinition;
