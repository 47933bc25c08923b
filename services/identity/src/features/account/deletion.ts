import { ServiceError } from '@gatehouse/core/errors';
import { html } from '@gatehouse/web/html';
import type { Context } from 'koa';
import type { Account, Accounts } from '../../core/accounts/account.ts';
import type { AccountMails } from '../../core/accounts/account-mails.ts';
import type { Application } from '../../core/applications/application.ts';
import { originOf } from '../../core/audit/audit.ts';
import { ACCOUNT_CLIENT } from '../../core/oidc/clients/client-metadata.ts';
import type { AccountRouter } from '../../core/sessions/account-router.ts';
import type { Question } from '../../pages/account/confirmation-pages.ts';
import { standalonePage } from '../../pages/document.ts';
import { sendPage } from '../../pages/page-response.ts';
import { t } from '../../texts/texts.ts';
import { ACCOUNT_PAGES } from './account-pages.ts';

/** Adds the page on which people delete their own account, as an admin can: every service then erases what it holds about them. */
export function addDeletionRoutes(
  { confirmed }: AccountRouter,
  options: {
    accounts: Pick<Accounts, 'remove'>;
    applications: { ownedBy(userId: string): Promise<Application[]> };
    mails: Pick<AccountMails, 'sendDeleted'>;
    /** For how many days the audit log is kept. */
    auditDays: number;
  },
): void {
  const { accounts, applications, mails, auditDays } = options;

  async function remove(ctx: Context, account: Account): Promise<undefined> {
    const { address, userAgent = null, requestId } = originOf(ctx);
    const by = { client_id: ACCOUNT_CLIENT, address, user_agent: userAgent, request_id: requestId };
    try {
      await accounts.remove(account.id, by);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.kind !== 'conflict') throw error;
      sendPage(ctx, lastAdminPage(), { status: 409 });
      return undefined;
    }
    void mails.sendDeleted(account);
    sendPage(ctx, accountDeletedPage());
    return undefined;
  }

  confirmed(
    ACCOUNT_PAGES.deleteAccount,
    ACCOUNT_PAGES.profile,
    async (ctx, { account }) => ({
      ...deletionQuestion({ account, applications: await applications.ownedBy(account.id), auditDays }),
      act: () => remove(ctx, account),
    }),
    { fresh: true },
  );
}

/** The data that is lost with an account, the data that is kept, and the reasons. */
export function deletionQuestion(model: {
  account: Pick<Account, 'username'>;
  applications: readonly Pick<Application, 'name'>[];
  auditDays: number;
}): Question {
  const { account, applications, auditDays } = model;
  return {
    title: t('Delete your account?'),
    lost: html`<p>${t('Your profile, your ways to sign in, your sessions, and everything that you have allowed applications are deleted at once. Your items, messages, reports, webhooks, resources and registration tokens follow within a minute.')}</p>
${
  applications.length > 0 &&
  html`<p>${t('These applications of yours are deleted, and stop working for everybody who uses them. Transfer those first that somebody else needs.')}</p>
<ul>${applications.map(({ name }) => html`<li><bdi>${name}</bdi></li>`)}</ul>`
}
<p>${t('Your orders are kept for bookkeeping, without your name. The audit log keeps what was done with your user ID for {days} days, so that nobody can remove the traces of a theft.', { days: auditDays })}</p>
<p>${t('This cannot be undone. Nobody can restore your account.')}</p>`,
    name: account.username,
    submit: t('Delete account'),
    back: ACCOUNT_PAGES.profile,
  };
}

/** Where nobody could manage the deployment without the account. */
export function lastAdminPage(): string {
  return standalonePage({
    title: t('Your account was not deleted'),
    body: html`<p>${t('You are the only active admin. Make somebody else an admin first, so that this site can still be managed.')}</p>
<p class="buttons"><a class="primary" href="${ACCOUNT_PAGES.profile}">${t('Go to your account')}</a></p>`,
  });
}

/** After the account was deleted. */
export function accountDeletedPage(): string {
  return standalonePage({
    title: t('Your account is deleted'),
    body: html`<p>${t('You are signed out everywhere. Your username and your email address are free again.')}</p>`,
  });
}
