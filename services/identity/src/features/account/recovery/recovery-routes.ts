import { ServiceError } from '@gatehouse/core/errors';
import { isConfirmed } from '@gatehouse/web/confirmation';
import type { PageForm } from '@gatehouse/web/form';
import Router from '@koa/router';
import type { Context } from 'koa';
import type { Account, Accounts } from '../../../core/accounts/account.ts';
import { type AccountMails, NEW_PASSWORD_SECONDS } from '../../../core/accounts/account-mails.ts';
import { recoveryUsed } from '../../../core/accounts/account-notices.ts';
import { isCurrentLink, type LinkPurpose, type OneTimeLinks } from '../../../core/accounts/one-time-link.ts';
import { type Audit, type Origin, originOf } from '../../../core/audit/audit.ts';
import type { Authority } from '../../../core/authority/authority.ts';
import type { Credentials } from '../../../core/extensions.ts';
import type { SignInThrottle } from '../../../core/limits/sign-in-throttle.ts';
import type { SecondFactorSource } from '../../../core/sessions/second-factor.ts';
import type { SessionEnds } from '../../../core/sessions/session-ends.ts';
import { standaloneQuestionPage } from '../../../pages/account/confirmation-pages.ts';
import type { BrowserCookie } from '../../../pages/browser-cookie.ts';
import type { CsrfForms } from '../../../pages/csrf-forms.ts';
import { formProblems } from '../../../pages/page-errors.ts';
import { sendPage } from '../../../pages/page-response.ts';
import { withLocales } from '../../../texts/languages.ts';
import { endCredentialsQuestion } from '../access/access-questions.ts';
import type { OwnApplications } from '../access/own-applications.ts';
import { linkInvalidPage } from './mailed-link-pages.ts';
import {
  credentialsEndedPage,
  forgottenPasswordPage,
  forgottenPasswordSentPage,
  newPasswordDonePage,
  newPasswordPage,
} from './new-password-pages.ts';

export type RecoveryRoutesOptions = {
  accounts: Accounts;
  links: OneTimeLinks;
  mails: AccountMails;
  audit: Audit;
  authority: Pick<Authority, 'giverOf'>;
  forms: CsrfForms;
  browser: Pick<BrowserCookie, 'rememberDevice'>;
  throttle: Pick<SignInThrottle, 'forgive'>;
  sessionEnds: Pick<SessionEnds, 'endAll'>;
  credentials: readonly Pick<Credentials, 'removeAll'>[];
  secondFactorSources: readonly Pick<SecondFactorSource, 'removeSince'>[];
  own: OwnApplications;
  /** Counts a request for a mail from this address; throws `rate_limited`. */
  countRequest(address: string): Promise<unknown>;
};

const FORGOTTEN = '/account/forgotten-password';
const NEW_PASSWORD = '/account/new-password';
/** The pages on which somebody who is not signed in chooses a password, by the purpose of the link that leads there. */
const PATHS = { new_password: NEW_PASSWORD, set_up_sign_in: '/account/set-up-sign-in' } as const;
const END_CREDENTIALS = `${NEW_PASSWORD}/end-credentials`;
const ACCOUNT = '/account';

/** Forgotten passwords, and links of admins: pages without a sign-in. */
export function recoveryRoutes(options: RecoveryRoutesOptions): Router {
  const { accounts, links, audit, forms, own } = options;
  const router = new Router({ sensitive: true });

  function showForgotten(ctx: Context, more: { login?: string; error?: ServiceError } = {}): void {
    const { login, error } = more;
    const html = forgottenPasswordPage({
      form: forms.form(ctx, {
        action: withLocales(FORGOTTEN, ctx.query.ui_locales),
        context: FORGOTTEN,
      }),
      login,
      retryAfter: error && Number(error.headers['retry-after']),
      links: { signIn: ACCOUNT },
    });
    sendPage(ctx, html, { status: error?.status ?? 200 });
  }

  router.get(FORGOTTEN, (ctx) => showForgotten(ctx));

  router.post(FORGOTTEN, async (ctx) => {
    const fields = await forms.read(ctx, FORGOTTEN);
    const login = (fields.get('login') ?? '').trim();
    try {
      await options.countRequest(originOf(ctx).address);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.kind !== 'rate_limited') throw error;
      ctx.set(error.headers);
      return showForgotten(ctx, { login, error });
    }
    // Not awaited: the time it takes would reveal whether the account exists.
    void options.mails.sendNewPassword(login);
    const minutes = NEW_PASSWORD_SECONDS / 60;
    sendPage(ctx, forgottenPasswordSentPage({ minutes, links: { signIn: ACCOUNT } }));
  });

  function refuseLink(ctx: Context): void {
    const html = linkInvalidPage({ purpose: 'new_password', links: { retry: FORGOTTEN } });
    sendPage(ctx, html, { status: 400 });
  }

  /** The account that a link is about, unless the account has changed in a way that voids the link. */
  async function accountOf(purpose: LinkPurpose, token: string): Promise<Account | undefined> {
    const link = await links.peek(purpose, token);
    const account = link === undefined ? undefined : await accounts.find(link.userId);
    if (link === undefined || account?.status !== 'active') return undefined;
    if (purpose === 'set_up_sign_in') {
      const { given } = link;
      const isGiven =
        given === undefined || (await options.authority.giverOf('set_up_link', given)) !== undefined;
      // An admin hands this link to the person, whose account may have no address.
      return isGiven && link.epoch === account.sign_in_epoch ? account : undefined;
    }
    return isCurrentLink(link, account) && account.email_verified ? account : undefined;
  }

  function showNewPassword(
    ctx: Context,
    purpose: keyof typeof PATHS,
    { account, token, error }: { account: Account; token: string; error?: ServiceError },
  ): void {
    const html = newPasswordPage({
      form: forms.form(ctx, { action: PATHS[purpose], hidden: { token } }),
      isReset: purpose === 'set_up_sign_in',
      username: account.username,
      problems: error && formProblems(error, () => 'new_password'),
    });
    sendPage(ctx, html, { status: error?.status ?? 200 });
  }

  /** Ends all that signs in to the account but the password, and what began by it meanwhile. */
  async function endMethods(id: string, origin: Origin): Promise<void> {
    for (const { removeAll } of options.credentials) await removeAll(id);
    for (const { removeSince } of options.secondFactorSources) await removeSince(id, new Date(0));
    await options.sessionEnds.endAll(id, { action: 'session.ended', origin });
  }

  for (const purpose of ['new_password', 'set_up_sign_in'] as const) {
    const isReset = purpose === 'set_up_sign_in';

    router.get(PATHS[purpose], async (ctx) => {
      const token = String(ctx.query.token ?? '');
      const account = await accountOf(purpose, token);
      if (account === undefined) refuseLink(ctx);
      else showNewPassword(ctx, purpose, { account, token });
    });

    router.post(PATHS[purpose], async (ctx) => {
      const fields = await forms.read(ctx, PATHS[purpose]);
      const token = fields.get('token') ?? '';
      const account = await accountOf(purpose, token);
      if (account === undefined) return refuseLink(ctx);
      const { id } = account;
      const next = fields.get('new_password') ?? '';
      const origin = originOf(ctx);
      try {
        const used = await links.use(purpose, token, async () => {
          const changed = await accounts.changePassword(id, { next, isRecovery: true, isSetUp: isReset });
          options.browser.rememberDevice(ctx, changed);
        });
        if (!used) return refuseLink(ctx);
      } catch (error) {
        if (!(error instanceof ServiceError) || error.kind !== 'invalid') throw error;
        return showNewPassword(ctx, purpose, { account, token, error });
      }
      if (isReset) await endMethods(id, origin);
      // A person who guesses passwords could otherwise close the account again before the person signs in.
      await options.throttle.forgive(account);
      await audit.record({ action: isReset ? 'set_up_link.used' : 'password.changed', origin, subject: id });
      if (!isReset) {
        void options.mails.notify(id, recoveryUsed({ at: new Date(), address: origin.address }));
      }
      const endCredentials = await offerToEndCredentials(ctx, id);
      sendPage(ctx, newPasswordDonePage({ isReset, links: { signIn: ACCOUNT }, endCredentials }));
    });
  }

  /** A form for somebody who has proved who they are and is not signed in; undefined without own applications. */
  async function offerToEndCredentials(ctx: Context, id: string): Promise<PageForm | undefined> {
    const account = (await own.list(id, originOf(ctx))).length > 0 ? await accounts.find(id) : undefined;
    if (account === undefined) return undefined;
    const token = await links.issue({
      purpose: 'end_credentials',
      userId: id,
      email: account.email ?? '',
      epoch: account.sign_in_epoch,
      seconds: NEW_PASSWORD_SECONDS,
    });
    return forms.form(ctx, { action: END_CREDENTIALS, hidden: { token } });
  }

  router.post(END_CREDENTIALS, async (ctx) => {
    const fields = await forms.read(ctx, END_CREDENTIALS);
    const token = fields.get('token') ?? '';
    const account = await accountOf('end_credentials', token);
    if (account === undefined) return refuseLink(ctx);
    const { id } = account;
    const origin = originOf(ctx);
    const question = endCredentialsQuestion(account, await own.list(id, origin), ACCOUNT);
    const response = fields.get('confirmation');
    if (!isConfirmed(response, question)) {
      const form = forms.form(ctx, { action: END_CREDENTIALS, hidden: { token } });
      const refused = response !== undefined;
      const html = standaloneQuestionPage({ question, form, refused });
      return sendPage(ctx, html, { status: refused ? 400 : 200 });
    }
    const used = await links.use('end_credentials', token, () => own.endCredentials(id, origin));
    if (!used) return refuseLink(ctx);
    sendPage(ctx, credentialsEndedPage({ links: { signIn: ACCOUNT } }));
  });

  return router;
}
