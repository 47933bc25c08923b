import { invalidFields } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import type { EarlierCreation, IdempotencyKey } from '@gatehouse/domain/idempotency-key';
import type { IfVersion } from '@gatehouse/domain/if-version';
import type { ListSource } from '@gatehouse/domain/list-query';
import type { NotificationType } from '@gatehouse/domain/notification-fields';
import { type Caller, chargedTo } from '@gatehouse/tokens/caller';
import {
  ACCEPTED,
  change,
  type NewNotification,
  type Notification,
  type NotificationChanges,
  type NotificationField,
  type NotificationStore,
  textProblems,
} from './notification.ts';
import type { SenderAuthority } from './sender-authority.ts';

/** The caller: a person, limited by role, or a machine (undefined person), which is not. */
export type Actor = Pick<Caller, 'person' | 'clientId' | 'givenBy'>;

/**
 * The use cases of notifications. People see those that were sent to them; for any other they get `not_found`, as if it did
 * not exist.
 */
export type NotificationService = {
  /** Throws `forbidden` unless the actor is an editor, an admin or a machine. */
  requireStaff(actor: Actor): void;
  listFor(actor: Actor): ListSource<NotificationField, Notification>;
  create(draft: NewNotification & { id: string }, actor: Actor, key?: IdempotencyKey): Promise<Notification>;
  /** The notification that was created with a key, as it was then. */
  findByKey(key: IdempotencyKey): Promise<EarlierCreation<Notification> | undefined>;
  read(id: string, actor: Actor): Promise<Notification>;
  /** Throws `conflict` unless it is queued. */
  update(id: string, changes: NotificationChanges, actor: Actor, ifVersion: IfVersion): Promise<Notification>;
  cancel(id: string, actor: Actor, ifVersion: IfVersion): Promise<void>;
};

export function createNotificationService(options: {
  store: NotificationStore;
  /** Throws `unavailable` when the users service cannot be asked. */
  userExists: (id: string) => Promise<boolean>;
  /** The types that there is a provider for. */
  types: ReadonlySet<NotificationType>;
  authority: Pick<SenderAuthority, 'sendersOf'>;
}): NotificationService {
  const { store, userExists, types, authority } = options;

  function requireStaff({ person }: Actor): void {
    if (person?.role !== 'user') return;
    throw new ServiceError(
      'forbidden',
      'Sending notifications is for editors, admins and trusted applications.',
    );
  }

  async function update(id: string, changes: NotificationChanges, ifVersion: IfVersion) {
    if (changes.status === undefined && changes.priority === undefined) {
      throw invalidFields([{ field: 'priority', message: 'is required, or else status' }]);
    }
    return store.update(id, (current) => change(current, changes), ifVersion);
  }

  return {
    requireStaff,

    listFor(actor) {
      const recipient = requiredRecipient(actor);
      return recipient === undefined ? store : store.within(recipient);
    },

    async create(draft, actor, key) {
      requireStaff(actor);
      const problems = textProblems(draft);
      if (!types.has(draft.type)) {
        problems.push({ field: 'type', message: `cannot be ${draft.type}: no provider is set up for it` });
      }
      if (problems.length > 0) throw invalidFields(problems);
      // First: it records the state of the account as of the moment when the credential was accepted.
      const finding = authority.sendersOf(actor);
      const [senders, exists] = await Promise.all([finding, userExists(draft.userId)]);
      if (!exists) {
        throw invalidFields([{ field: 'user_id', message: 'is not a user' }]);
      }
      const now = new Date();
      const notification: Notification = {
        priority: 'normal',
        ...draft,
        subject: draft.subject,
        ...ACCEPTED,
        createdAt: now,
        updatedAt: now,
      };
      // All applications of a person are one sender.
      await store.add(notification, { sender: chargedTo(actor), senders, key });
      return notification;
    },

    findByKey: store.findByKey,

    async read(id, actor) {
      const notification = await store.findById(id, requiredRecipient(actor));
      if (notification === undefined) {
        throw new ServiceError('not_found', 'There is no such notification.');
      }
      return notification;
    },

    async update(id, changes, actor, ifVersion) {
      requireStaff(actor);
      return update(id, changes, ifVersion);
    },

    async cancel(id, actor, ifVersion) {
      requireStaff(actor);
      await update(id, { status: 'cancelled' }, ifVersion);
    },
  };
}

/** The recipient to whose notifications an actor's access is restricted; undefined if it is not restricted. */
function requiredRecipient({ person }: Actor): string | undefined {
  return person?.role === 'user' ? person.id : undefined;
}
