import type { IndexDefinition } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import type { VersionedDocument } from '@gatehouse/data/versioned-write';
import type { StoredOf } from '@gatehouse/domain/fields';
import { NOTIFICATION, type NotificationPriority } from '../notification.ts';

export const COLLECTION = 'notifications';

/** As stored. Addresses are never stored here, they belong to users. */
export type NotificationDocument = StoredOf<typeof NOTIFICATION> &
  VersionedDocument & {
    /** The sender, while it waits; missing in documents of earlier versions. */
    sender?: string | null;
    /** The priority when it was accepted. */
    first_priority: NotificationPriority;
    /** The number of attempts of the current job. */
    job_attempts: number;
    /** The attempt that holds the lease, and until when. */
    holder: string | null;
    lease_until: Date | null;
    /** Before this time there is no further attempt. */
    due_at: Date;
    /** When it is checked whether its job is still there; null once it has ended. */
    check_at: Date | null;
    /** The trace context of the request that created it, when traces are recorded. */
    traceparent?: string;
  };

/** The fields of a notification that no process sends. */
export const UNLEASED = { holder: null, lease_until: null };

export const notifications = createDocumentMapper(NOTIFICATION);

/** The index of waiting notifications by sender; it is partial and contains no others. */
export const SENDERS_INDEX = {
  fields: { type: 1, priority: 1, sender: 1, due_at: 1 },
  options: { name: 'senders', partialFilterExpression: { sender: { $gt: '' } } },
} as const satisfies IndexDefinition;
