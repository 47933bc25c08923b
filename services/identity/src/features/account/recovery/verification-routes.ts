import { ServiceError } from '@gatehouse/core/errors';
import type { Context } from 'koa';
import type { Accounts } from '../../../core/accounts/account.ts';
import { isCurrentLink, type OneTimeLinks } from '../../../core/accounts/one-time-link.ts';
import { type Audit, originOf } from '../../../core/audit/audit.ts';
import type { AccountRouter } from '../../../core/sessions/account-router.ts';
import { seeOther, sendPage } from '../../../pages/page-response.ts';
import { ACCOUNT_PAGES } from '../account-pages.ts';
import {
  emailOfOtherAccountPage,
  emailVerifiedPage,
  emailVerifyPage,
  linkInvalidPage,
} from './mailed-link-pages.ts';

const PURPOSE = 'verify_email';
const PATH = ACCOUNT_PAGES.verification;
const COOKIE = 'gatehouse_verification';
/** How long a sign-in may take, in milliseconds. */
const COOKIE_MS = 3_600_000;

/**
 * The page that the link to verify an address leads to. It asks who is signed in: a link proves that somebody reads the
 * mail, and not that the account is theirs. The token waits in a cookie meanwhile, and so is in no further URL.
 */
export function addVerificationRoutes(
  { router, get, post }: AccountRouter,
  options: { accounts: Pick<Accounts, 'verifyEmail'>; links: OneTimeLinks; audit: Audit },
): void {
  const { accounts, links, audit } = options;

  function setCookie(ctx: Context, token: string | null): void {
    ctx.cookies.set(COOKIE, token, {
      httpOnly: true,
      sameSite: 'lax',
      secure: ctx.secure,
      path: PATH,
      overwrite: true,
      ...(token === null ? {} : { maxAge: COOKIE_MS }),
    });
  }

  const refuse = (ctx: Context) =>
    sendPage(ctx, linkInvalidPage({ purpose: 'email', links: { retry: ACCOUNT_PAGES.profile } }), {
      status: 400,
    });

  router.get(PATH, async (ctx, next) => {
    const { token } = ctx.query;
    if (typeof token !== 'string') return next();
    setCookie(ctx, /^[\w-]+$/.test(token) ? token : null);
    ctx.set({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    seeOther(ctx, PATH);
  });

  get(PATH, async (ctx, { signedIn: { account }, frame, form }) => {
    const token = ctx.cookies.get(COOKIE) ?? '';
    const link = await links.peek(PURPOSE, token);
    if (link === undefined) return refuse(ctx);
    if (link.userId !== account.id) {
      const { username, signOut } = frame;
      return sendPage(ctx, emailOfOtherAccountPage({ username, signOut }), { status: 403 });
    }
    if (!isCurrentLink(link, account)) return refuse(ctx);
    const { username } = account;
    sendPage(ctx, emailVerifyPage({ form: form(PATH, { token }), email: link.email, username }));
  });

  post(PATH, async (ctx, { account }, fields) => {
    const token = fields.get('token') ?? '';
    const link = await links.peek(PURPOSE, token);
    if (!isCurrentLink(link, account)) return void refuse(ctx);
    const { email } = link;
    const used = await links
      .use(PURPOSE, token, () => accounts.verifyEmail(account.id, email))
      .catch((error: unknown) => {
        // It has been confirmed for another account, or is not this one's any more.
        if (error instanceof ServiceError && error.kind === 'conflict') return false;
        throw error;
      });
    if (!used) return void refuse(ctx);
    await audit.record({ action: 'email.verified', origin: originOf(ctx), subject: account.id });
    setCookie(ctx, null);
    sendPage(ctx, emailVerifiedPage({ email, links: { account: ACCOUNT_PAGES.profile } }));
    return undefined;
  });
}
