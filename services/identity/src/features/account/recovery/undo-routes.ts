import Router from '@koa/router';
import type { Context } from 'koa';
import type { Account, Accounts } from '../../../core/accounts/account.ts';
import {
  type AccountMails,
  NEW_PASSWORD_SECONDS,
  UNDO_SECONDS,
} from '../../../core/accounts/account-mails.ts';
import type { UndoableChange } from '../../../core/accounts/notice.ts';
import type { OneTimeLink, OneTimeLinks } from '../../../core/accounts/one-time-link.ts';
import { type Audit, originOf } from '../../../core/audit/audit.ts';
import type { Credentials } from '../../../core/extensions.ts';
import type { SecondFactorSource } from '../../../core/sessions/second-factor.ts';
import type { SessionEnds } from '../../../core/sessions/session-ends.ts';
import type { CsrfForms } from '../../../pages/csrf-forms.ts';
import { sendPage } from '../../../pages/page-response.ts';
import { EMAIL_CHANGED, linkInvalidPage, undonePage, undoPage } from './mailed-link-pages.ts';

const UNDO_MS = UNDO_SECONDS * 1000;
const PATHS = {
  undo_email_change: '/account/undo-email-change',
  undo_change: '/account/undo-change',
} as const;

/**
 * The pages that "This was not me" in a mail leads to (docs/adr/0032-undoing-changes.md). They ask, as programs that scan mail follow links,
 * and sign nobody in: what comes after takes a further link to the mailbox, and the second factor of the account.
 */
export function undoRoutes(options: {
  accounts: Pick<Accounts, 'find' | 'restoreEmail'>;
  links: OneTimeLinks;
  mails: Pick<AccountMails, 'sendUndone'>;
  audit: Audit;
  forms: CsrfForms;
  sessionEnds: Pick<SessionEnds, 'endAll'>;
  undoableChanges: readonly UndoableChange[];
  credentials: readonly Credentials[];
  secondFactorSources: readonly Pick<SecondFactorSource, 'removeSince' | 'restore'>[];
}): Router {
  const { accounts, links, audit, forms, undoableChanges, credentials, secondFactorSources } = options;
  const router = new Router({ sensitive: true });

  const refuse = (ctx: Context) =>
    sendPage(ctx, linkInvalidPage({ purpose: 'undo', links: { retry: '/account' } }), { status: 400 });

  /**
   * A change that a thief can make voids no link, but for one of the address: what follows is for whoever reads the mail there. An address
   * comes back only while the account keeps it as the earlier one, which users checks again in the write. An admin who has given the
   * account back ends the other links of before: they may be with the thief.
   */
  async function find(purpose: keyof typeof PATHS, token: string) {
    const link = await links.peek(purpose, token);
    const account = link === undefined ? undefined : await accounts.find(link.userId);
    if (link === undefined || account?.status !== 'active') return undefined;
    const givenBackAt = Date.parse(account.given_back_at ?? '');
    const isOlder = link.expiresAt.getTime() - UNDO_MS <= givenBackAt;
    const isCurrent =
      purpose === 'undo_email_change'
        ? account.earlier_email === link.email
        : account.email_verified && account.email === link.email && !isOlder;
    return isCurrent ? { link, account } : undefined;
  }

  /** Ends what somebody else may have got into the account by; returns the details for the audit log. */
  async function endMethods({ userId, method, expiresAt }: OneTimeLink, isEmail: boolean) {
    // Before the change of an address and since, somebody else may have set one up to keep the owner out. An older one is the
    // owner's: a link in an old mailbox does not get past it. Each other change had a link of its own at the time.
    const since = new Date(isEmail ? expiresAt.getTime() - 2 * UNDO_MS : Date.now() - UNDO_MS);
    const removed: Record<string, number> = {};
    let [apps, restored] = [0, false];
    for (const { name, removeAll } of credentials) {
      removed[name] = await removeAll(userId, isEmail ? undefined : since);
    }
    for (const it of secondFactorSources) apps += await it.removeSince(userId, since);
    for (const it of [...credentials, ...secondFactorSources]) {
      // A method that was added in that time as well may be the thief's.
      if (method !== null) restored ||= await it.restore(userId, method, since);
    }
    const details = { ...removed, authenticator_apps: apps };
    return restored ? { ...details, restored: method } : details;
  }

  for (const purpose of ['undo_email_change', 'undo_change'] as const) {
    const path = PATHS[purpose];
    const isEmail = purpose === 'undo_email_change';

    router.get(path, async (ctx) => {
      const token = String(ctx.query.token ?? '');
      const { link, account } = (await find(purpose, token)) ?? {};
      const change = isEmail ? EMAIL_CHANGED : undoableChanges.find(({ name }) => name === link?.change);
      if (link === undefined || account === undefined || change === undefined) return refuse(ctx);
      const { email, expiresAt } = link;
      const form = forms.form(ctx, { action: path, hidden: { token } });
      const at = new Date(expiresAt.getTime() - UNDO_MS);
      sendPage(ctx, undoPage({ form, email, username: account.username, at, change, isEmail }));
    });

    router.post(path, async (ctx) => {
      const token = (await forms.read(ctx, path)).get('token') ?? '';
      const { link } = (await find(purpose, token)) ?? {};
      if (link === undefined) return refuse(ctx);
      const origin = originOf(ctx);
      let account: Account | undefined;
      let details = {};
      const used = await links.use(purpose, token, async () => {
        // Ends the password and all tokens as well.
        account = await accounts.restoreEmail(link.userId, link.email);
        // Afterwards, as until then somebody who is signed in could add another one; and then the sessions that they began meanwhile.
        details = await endMethods(link, isEmail);
        await options.sessionEnds.endAll(link.userId, { action: 'session.ended', origin });
      });
      if (!used || account === undefined) return refuse(ctx);
      const action = isEmail ? 'email.restored' : 'change.undone';
      const change = isEmail ? {} : { change: link.change };
      await audit.record({ action, origin, subject: account.id, details: { ...change, ...details } });
      void options.mails.sendUndone(account);
      const minutes = NEW_PASSWORD_SECONDS / 60;
      const ways = { forgottenPassword: '/account/forgotten-password' };
      sendPage(ctx, undonePage({ email: link.email, minutes, links: ways }));
    });
  }
  return router;
}
