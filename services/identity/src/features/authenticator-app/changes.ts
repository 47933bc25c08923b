import type { AuditAction } from '@gatehouse/domain/audit-actions';
import type { AccountMails } from '../../core/accounts/account-mails.ts';
import type { Audit, Origin } from '../../core/audit/audit.ts';
import type { RememberedBrowsers } from '../../core/sessions/remembered-browser.ts';
import { appAdded, appRemoved, recoveryCodesRenewed } from './app-notices.ts';
import type { AuthenticatorApps } from './authenticator-apps.ts';

const CHANGES = {
  added: { action: 'authenticator_app.added', notice: appAdded },
  removed: { action: 'authenticator_app.removed', notice: appRemoved },
  'codes renewed': { action: 'recovery_codes.renewed', notice: recoveryCodesRenewed },
} as const satisfies Record<string, { action: AuditAction; notice: typeof appRemoved }>;

/** The actor of a change, by default the owner of the account, and the origin. */
type By = { origin: Origin; actor?: string };

/** The changes of authenticator apps, which are audited and mailed to their owners. */
export type AppChanges = {
  record(change: keyof typeof CHANGES, userId: string, by: By): Promise<void>;
  /** Returns whether there was one. */
  remove(userId: string, id: string, by: By): Promise<boolean>;
};

export function createAppChanges(options: {
  apps: Pick<AuthenticatorApps, 'remove'>;
  remembered: Pick<RememberedBrowsers, 'forgetAll'>;
  mails: Pick<AccountMails, 'notify'>;
  audit: Audit;
}): AppChanges {
  const { apps, remembered, mails, audit } = options;

  async function record(
    change: keyof typeof CHANGES,
    userId: string,
    { removed, ...by }: By & { removed?: string },
  ): Promise<void> {
    const { action, notice } = CHANGES[change];
    await audit.record({ ...by, action, subject: userId });
    void mails.notify(userId, notice({ at: new Date(), address: by.origin.address }, removed));
  }

  return {
    record,
    async remove(userId, id, by) {
      if (!(await apps.remove(userId, id))) return false;
      await remembered.forgetAll(userId);
      await record('removed', userId, { ...by, removed: id });
      return true;
    },
  };
}
