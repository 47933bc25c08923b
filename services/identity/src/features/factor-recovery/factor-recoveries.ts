import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask, type PeriodicTask } from '@gatehouse/core/periodic';
import type { Account, Accounts } from '../../core/accounts/account.ts';
import type { AccountMails } from '../../core/accounts/account-mails.ts';
import type { Audit, Origin } from '../../core/audit/audit.ts';
import type { FactorList } from '../../core/sessions/listed-factors.ts';
import type { FactorRecovery, FactorRecoveryStore } from './factor-recovery.ts';

/** How somebody who has lost all second factors gets into the account again: by mail, after a time in which the owner can stop it. */
export type FactorRecoveries = {
  /** The one that is under way; undefined when there is none, or when a change of the account has made it void. */
  find(account: Account): Promise<FactorRecovery | undefined>;
  /** Begins one for somebody who knows the password, or sends the last mail again. Nothing, without a confirmed address. */
  begin(account: Account, origin: Origin): Promise<void>;
  /** Stops what is under way. */
  stop(userId: string, origin: Origin): Promise<void>;
  /**
   * Removes the second factors of an account for which find() has found one whose time has come. Returns false if it was stopped
   * meanwhile.
   */
  finish(account: Account, origin: Origin): Promise<boolean>;
  /** Sends the mails that are due. */
  sender: PeriodicTask;
};

const HOUR_MS = 3600_000;
/** How long before the end another mail comes; in the middle of a shorter time. */
const WARN_MS = 24 * HOUR_MS;
/** How long the factors can be removed. */
const READY_MS = 72 * HOUR_MS;
const EVERY_MS = 60_000;

export const isReady = ({ readyAt }: FactorRecovery) => readyAt <= new Date();

export function createFactorRecoveries(options: {
  store: FactorRecoveryStore;
  waitHours: number;
  accounts: Pick<Accounts, 'find'>;
  factors: readonly FactorList[];
  mails: Pick<AccountMails, 'sendFactorRecovery'>;
  audit: Audit;
  logger: Logger;
}): FactorRecoveries {
  const { store, accounts, mails, audit } = options;
  const waitMs = options.waitHours * HOUR_MS;

  const isOf = (account: Account | undefined, { email, epoch }: FactorRecovery): account is Account =>
    account?.status === 'active' &&
    account.email_verified &&
    account.email === email &&
    account.sign_in_epoch === epoch;

  async function find(account: Account): Promise<FactorRecovery | undefined> {
    const found = await store.find(account.id);
    return found !== undefined && isOf(account, found) ? found : undefined;
  }

  return {
    find,
    async begin(account, origin) {
      const { id: userId, email, sign_in_epoch: epoch } = account;
      if (email === null || !account.email_verified) return;
      const now = Date.now();
      const readyAt = new Date(now + waitMs);
      const dueAt = new Date(readyAt.getTime() - Math.min(WARN_MS, waitMs / 2));
      const expiresAt = new Date(readyAt.getTime() + READY_MS);
      if (await store.begin({ userId, email, epoch, readyAt, dueAt, expiresAt })) {
        await audit.record({ action: 'factor_recovery.requested', origin, subject: userId });
        void mails.sendFactorRecovery(account, { stage: 'requested', readyAt, address: origin.address });
        return;
      }
      const found = await find(account);
      if (found !== undefined && isReady(found))
        void mails.sendFactorRecovery(account, { stage: 'ready', readyAt });
    },
    async stop(userId, origin) {
      if (await store.remove(userId)) {
        await audit.record({ action: 'factor_recovery.stopped', origin, subject: userId });
      }
    },
    async finish({ id }, origin) {
      // First: of this and of what stops it, one comes through.
      if (!(await store.remove(id))) return false;
      for (const { list, remove } of options.factors) {
        for (const { id: factor, type } of await list(id)) {
          // Passkeys are not asked for.
          if (type !== 'passkey') await remove(id, factor, { origin, actor: id });
        }
      }
      await audit.record({ action: 'factor_recovery.finished', origin, subject: id });
      return true;
    },
    sender: createPeriodicTask({
      async run(signal) {
        const nextAfter = (it: FactorRecovery) => (isReady(it) ? null : it.readyAt);
        for (let it = await store.takeDue(nextAfter); it !== undefined; it = await store.takeDue(nextAfter)) {
          const account = await accounts.find(it.userId);
          if (isOf(account, it)) {
            const { readyAt } = it;
            await mails.sendFactorRecovery(account, { stage: isReady(it) ? 'ready' : 'soon', readyAt });
          } else await store.remove(it.userId);
          if (signal.aborted) return;
        }
      },
      everyMs: EVERY_MS,
      immediately: true,
      onError: (error) => options.logger.warn({ err: error }, 'mails about recoveries could not be sent'),
    }),
  };
}
