import { ServiceError } from '@gatehouse/core/errors';
import type Router from '@koa/router';
import type { Context } from 'koa';
import type { Interaction } from 'oidc-provider';
import type { Accounts } from '../../core/accounts/account.ts';
import type { SignIn } from '../../core/oidc/epochs/sign-in-epochs.ts';
import type { CompletedSignIn, PageAfterSignIn } from '../../core/sessions/after-sign-in.ts';
import type { SessionEnds } from '../../core/sessions/session-ends.ts';
import type { BrowserCookie } from '../../pages/browser-cookie.ts';
import type { CsrfForms } from '../../pages/csrf-forms.ts';
import { SignInExpired } from '../../pages/page-errors.ts';
import { seeOther, sendPage } from '../../pages/page-response.ts';
import type { Interactions } from './interactions.ts';

export const afterSignInPath = (uid: string, { name }: PageAfterSignIn) => `/sign-in/${uid}/after/${name}`;

/** The pages between a sign-in, whose result is stored in the interaction, and where it leads. */
export function addAfterSignInRoutes(
  router: Router,
  options: Interactions & {
    accounts: Pick<Accounts, 'find'>;
    sessionEnds: Pick<SessionEnds, 'isOver'>;
    browser: Pick<BrowserCookie, 'id'>;
    forms: CsrfForms;
    pagesAfterSignIn: readonly PageAfterSignIn[];
  },
): void {
  const pageOf = (ctx: Context) => options.pagesAfterSignIn.find(({ name }) => name === ctx.params.page);

  async function completedSignInOf(ctx: Context, details: Interaction): Promise<CompletedSignIn> {
    const login = details.result?.login as SignIn | undefined;
    if (login === undefined || login.browser !== options.browser.id(ctx)) throw new SignInExpired();
    const account = await options.accounts.find(login.accountId);
    if (account?.status !== 'active' || account.sign_in_epoch !== login.epoch) throw new SignInExpired();
    if (await options.sessionEnds.isOver(login)) throw new SignInExpired();
    return { account, login, recheck: () => completedSignInOf(ctx, details) };
  }

  async function show(
    ctx: Context,
    details: Interaction,
    page: PageAfterSignIn,
    signIn: CompletedSignIn,
    error?: ServiceError,
  ): Promise<void> {
    const html = await page.show(ctx, signIn, {
      form: options.forms.form(ctx, { action: ctx.path, context: details.uid }),
      application: await options.applicationOf(ctx, details),
      next: details.returnTo,
      error,
    });
    sendPage(ctx, html, { status: error?.status ?? 200, formTargets: options.targetsOf(details) });
  }

  router.get('/sign-in/:uid/after/:page', async (ctx, next) => {
    const page = pageOf(ctx);
    if (page === undefined) return next();
    const details = await options.load(ctx);
    await show(ctx, details, page, await completedSignInOf(ctx, details));
  });

  router.post('/sign-in/:uid/after/:page', async (ctx, next) => {
    const page = pageOf(ctx);
    if (page === undefined) return next();
    const { fields, details } = await options.readForm(ctx);
    const signIn = await completedSignInOf(ctx, details);
    try {
      const login = await page.submit(ctx, signIn, fields);
      seeOther(ctx, await options.resultUrl(ctx, { ...details.result, login }));
    } catch (error) {
      const isCorrectable = error instanceof ServiceError && ['invalid', 'forbidden'].includes(error.kind);
      if (!isCorrectable || error instanceof SignInExpired) throw error;
      await show(ctx, details, page, signIn, error);
    }
  });
}
