import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import type { JobState } from '@gatehouse/data/job-document';
import type { VersionedDocument } from '@gatehouse/data/versioned-write';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { NotificationPriority } from '@gatehouse/domain/notification-fields';
import { NOTIFICATION, type Sender } from '../notification.ts';

export const COLLECTION = 'notifications';

/** As stored. Addresses are never stored here, they belong to users. */
export type NotificationDocument = StoredOf<typeof NOTIFICATION> &
  VersionedDocument & {
    /** The job, whose owner is the sender; null once it has ended. Notifications of Gatehouse name no senders. */
    job: (JobState & { senders?: readonly Sender[] }) | null;
    /** The priority when it was accepted. */
    first_priority: NotificationPriority;
  };

export const notifications = createDocumentMapper(NOTIFICATION);
