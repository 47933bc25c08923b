import type { RateLimiter } from '@gatehouse/api/http/rate-limit';
import { invalidFields } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import { isId, isUserId, newId } from '@gatehouse/core/ids';
import { date, type EntityOf, id, number, text } from '@gatehouse/domain/fields';
import { ROLES, type Role } from '@gatehouse/tokens/scopes';
import type { Account, Accounts } from '../../core/accounts/account.ts';
import type { AccountMails } from '../../core/accounts/account-mails.ts';
import {
  type Application,
  type ApplicationStore,
  MAX_APPLICATIONS,
} from '../../core/applications/application.ts';
import type { ApplicationWrites } from '../../core/applications/application-writes.ts';
import { findManaged, type Manager, recordBy } from '../../core/applications/ownership.ts';
import type { Audit } from '../../core/audit/audit.ts';
import type { Authority } from '../../core/authority/authority.ts';
import { applicationGiven, applicationOffered } from './transfer-notices.ts';

/** An application that somebody has been offered. Nothing moves until they accept. */
export const TRANSFER = {
  id: id(),
  clientId: text(),
  /** The offer ends when the application is changed: the recipient accepts what they have seen. */
  applicationUpdatedAt: date(),
  /** The owner, or an admin. */
  offeredBy: text(),
  /** The sum of the epochs of the sender's account that it rests on (see AUTHORITY). */
  senderEpoch: number(),
  to: text(),
  createdAt: date(),
  expiresAt: date(),
};
export type PendingTransfer = EntityOf<typeof TRANSFER>;

/** A pending transfer with what its recipient decides about. */
export type OfferedTransfer = PendingTransfer & { application: Application; sender: Account };

/** The store of pending transfers. Writes are durable when they resolve. */
export type TransferStore = {
  /**
   * Replaces the pending transfer of the application. When the recipient has MAX_PENDING, it also replaces the oldest of whoever has
   * sent the most, if the sender has sent fewer. False otherwise, or when the recipient has this many of the sender; undefined
   * when another was inserted at the same time.
   */
  insert(transfer: PendingTransfer, limitOfSender: number): Promise<boolean | undefined>;
  /** The pending transfer of an application. */
  of(clientId: string): Promise<PendingTransfer | undefined>;
  /** The transfers to a person, the oldest first. */
  to(userId: string): Promise<PendingTransfer[]>;
  /** One of several concurrent calls gets true. */
  remove(id: string): Promise<boolean>;
};

export type Transfers = {
  /**
   * Offers an application to another person, by their id, username or verified address, for TRANSFER_SECONDS. An admin who
   * takes one for themselves has it at once. Only admins offer one to somebody with a higher role than their own: people who
   * sign in to it have at most its owner's role. Throws `invalid`, `conflict` when the recipient has too many of the manager's,
   * and `rate_limited` when the manager has offered them many.
   */
  offer(manager: Manager, id: string, to: string): Promise<Application | OfferedTransfer>;
  /** The pending transfer of an application that the manager may see. Throws `not_found`. */
  pending(manager: Manager, id: string): Promise<OfferedTransfer>;
  cancel(manager: Manager, id: string): Promise<void>;
  /** The transfers to the manager, the oldest first. */
  received(manager: Manager): Promise<OfferedTransfer[]>;
  /**
   * Makes the manager the owner. The credentials of the application, its tokens, its trust, the permissions of people,
   * and the back-channel logout URI end. Redirect URIs stay. Throws `conflict` when they have MAX_APPLICATIONS, or
   * the sender may not give it to them any more.
   */
  accept(manager: Manager, transferId: string): Promise<Application>;
  decline(manager: Manager, transferId: string): Promise<void>;
};

/** How long a transfer can be accepted. */
export const TRANSFER_SECONDS = 7 * 86_400;
/** How many transfers to one person can be pending, and how many of those by one sender who is not an admin. */
export const MAX_PENDING = 20;
export const MAX_PENDING_BY_ONE = 5;
/** Wrong recipients say who exists, so that an admin is not limited, and others are. */
export const RECIPIENTS = { name: 'recipients', quota: 20, seconds: 3600 };
/** How many one person is offered by another who is no admin: each sends a mail. */
export const OFFERED = { name: 'applications offered to one person', quota: 10, seconds: 86_400 };

type TransferOptions = {
  store: Pick<ApplicationStore, 'findNow' | 'transfer' | 'list'>;
  authority: Authority<Account>;
  transfers: TransferStore;
  accounts: Pick<Accounts, 'find' | 'lookUp'>;
  writes: Pick<ApplicationWrites, 'revoke'>;
  audit: Pick<Audit, 'record'>;
  attempts: Pick<RateLimiter, 'count'>;
  offered: Pick<RateLimiter, 'count'>;
  /** Tells a person by mail. Never rejects. */
  mails: Pick<AccountMails, 'notify'>;
};

export function createTransfers(options: TransferOptions): Transfers {
  const { store, transfers, accounts, writes, audit, attempts, authority } = options;
  const { offered, receivedBy } = createOffers(options);

  /** Gives it to its new owner as it was read. */
  async function move(manager: Manager, before: Application): Promise<Application> {
    const application = await store.transfer(before, manager.id);
    if (application === 'full') throw hasEnough();
    if (application === undefined) throw changed();
    await writes.revoke([{ application, over: true }]);
    const details = { from: before.owner, to: manager.id };
    await recordBy(manager, audit, { action: 'application.transferred', client: application.id, details });
    if (before.owner !== null) void options.mails.notify(before.owner, applicationGiven(application));
    return application;
  }

  async function findReceived({ id: userId }: Manager, transferId: string): Promise<OfferedTransfer> {
    const found = await offered((await transfers.to(userId)).find(({ id }) => id === transferId));
    if (found === undefined) throw noTransfer();
    return found;
  }

  async function pending(manager: Manager, id: string): Promise<OfferedTransfer> {
    await findManaged(options, manager, id, 'owner');
    const found = await offered(await transfers.of(id));
    if (found === undefined) throw noTransfer();
    return found;
  }

  async function remove({ id }: PendingTransfer): Promise<void> {
    if (!(await transfers.remove(id))) throw noTransfer();
  }

  return {
    async offer(manager, id, to) {
      await findManaged(options, manager, id, 'owner');
      if (manager.role !== 'admin') await attempts.count(manager.id);
      const application = await findManaged(options, manager, id, 'owner');
      const recipient = await recipientOf(accounts, manager, application, to);
      if (recipient === manager.id) return move(manager, application);
      if (manager.role !== 'admin') await options.offered.count(`${manager.id} ${recipient}`);
      const sender = await accounts.find(manager.id);
      if (sender === undefined) throw noTransfer();
      await receivedBy(recipient);
      const now = Date.now();
      const transfer: PendingTransfer = {
        id: newId('trf'),
        clientId: id,
        applicationUpdatedAt: application.updatedAt,
        offeredBy: manager.id,
        senderEpoch: authority.givenBy('transfer', sender, application).epoch,
        to: recipient,
        createdAt: new Date(now),
        expiresAt: new Date(now + TRANSFER_SECONDS * 1000),
      };
      const limit = manager.role === 'admin' ? MAX_PENDING : MAX_PENDING_BY_ONE;
      const inserted = await transfers.insert(transfer, limit);
      if (inserted === undefined) throw changed();
      if (!inserted) {
        const message = `The recipient already has ${MAX_PENDING} pending offers, or ${limit} of yours.`;
        throw new ServiceError('conflict', message);
      }
      const details = { to: recipient };
      await recordBy(manager, audit, { action: 'transfer.offered', client: id, details });
      void options.mails.notify(recipient, applicationOffered(application));
      return { ...transfer, application, sender };
    },
    pending,
    async cancel(manager, id) {
      const { to, ...transfer } = await pending(manager, id);
      await remove({ ...transfer, to });
      await recordBy(manager, audit, { action: 'transfer.cancelled', client: id, details: { to } });
    },
    received: ({ id }) => receivedBy(id),
    async accept(manager, transferId) {
      const transfer = await findReceived(manager, transferId);
      const { application, sender } = transfer;
      if (isHigher(manager, sender)) {
        throw new ServiceError(
          'conflict',
          'The person who offered the application may no longer transfer it to you.',
        );
      }
      const own = await store.list({ owner: manager.id, after: undefined, limit: MAX_APPLICATIONS });
      if (own.length === MAX_APPLICATIONS) throw hasEnough();
      // Before anything moves: what has been cancelled, or accepted in another tab, is over.
      await remove(transfer);
      return move(manager, application);
    },
    async decline(manager, transferId) {
      const transfer = await findReceived(manager, transferId);
      await remove(transfer);
      await recordBy(manager, audit, { action: 'transfer.declined', client: transfer.clientId });
    },
  };
}

async function recipientOf(
  accounts: TransferOptions['accounts'],
  manager: Manager,
  { owner }: Application,
  to: string,
): Promise<string> {
  // An id that an imported account brought along may look like a name.
  const found =
    (isUserId(to) ? await accounts.find(to) : undefined) ??
    (isId('usr', to) ? undefined : await accounts.lookUp(to));
  if (found?.status !== 'active' || isHigher(found, manager)) {
    const message = 'Enter an active user whose role is not higher than yours.';
    throw invalidFields([{ field: 'to', message }]);
  }
  if (found.id === owner)
    throw invalidFields([{ field: 'to', message: 'Enter a user other than the owner.' }]);
  return found.id;
}

/** Finds the pending transfers that still hold. */
function createOffers({ store, authority, transfers }: TransferOptions) {
  /** A pending transfer, unless the application has changed since. */
  async function offered(transfer: PendingTransfer | undefined): Promise<OfferedTransfer | undefined> {
    if (transfer === undefined) return undefined;
    const { clientId, offeredBy: by, senderEpoch: epoch } = transfer;
    const application = await store.findNow(clientId);
    if (application?.updatedAt.getTime() !== transfer.applicationUpdatedAt.getTime()) return undefined;
    const sender = await authority.giverOf('transfer', { by, epoch }, application);
    return sender && { ...transfer, application, sender };
  }

  /** The transfers to a person. Ended ones do not count towards MAX_PENDING: nobody could see and decline them. */
  async function receivedBy(userId: string): Promise<OfferedTransfer[]> {
    const found = await Promise.all(
      (await transfers.to(userId)).map(async (transfer) => {
        const it = await offered(transfer);
        if (it === undefined) await transfers.remove(transfer.id);
        return it;
      }),
    );
    return found.filter((transfer) => transfer !== undefined);
  }

  return { offered, receivedBy };
}

/** An admin may give to everybody. */
function isHigher(recipient: { role: Role }, sender: { role: Role }): boolean {
  return ROLES.indexOf(recipient.role) > ROLES.indexOf(sender.role);
}

const noTransfer = () => new ServiceError('not_found', 'There is no such pending transfer.');
const changed = () =>
  new ServiceError('conflict', 'The application has been changed at the same time: try again.');
const hasEnough = () => new ServiceError('conflict', `You already have ${MAX_APPLICATIONS} applications.`);
