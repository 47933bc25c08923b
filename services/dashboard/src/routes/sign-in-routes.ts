import { createAddressLimiter } from '@gatehouse/http/rate-limit';
import { requestInfo } from '@gatehouse/kit/requests';
import Router from '@koa/router';
import type { Cookies } from '../http/cookies.ts';
import { CsrfError, type Forms } from '../http/forms.ts';
import { seeOther, sendPage } from '../http/respond.ts';
import { returnPath } from '../http/return-to.ts';
import { signedOutPage, signInFailedPage } from '../pages/status-pages.ts';
import { SignInRefused } from '../sessions/oauth-client.ts';
import type { Sessions } from '../sessions/sessions.ts';

/** Exchanges of codes, each of which asks identity and may store a session. */
const SIGN_INS = { name: 'dashboard sign-ins', quota: 120, seconds: 60 };
const PENDING_SECONDS = 600;

/** Signing in at identity and coming back, and signing out. */
export function signInRoutes(options: {
  sessions: Sessions;
  cookies: Cookies;
  forms: Forms;
  signOutUrl: string;
  publicUrl: string;
  sessionSeconds: number;
  rateLimit: boolean;
}): Router {
  const { sessions, cookies, forms, publicUrl } = options;
  const router = new Router({ prefix: '/dashboard', sensitive: true });
  const limiter = createAddressLimiter(SIGN_INS);

  router.get('/sign-in', async (ctx) => {
    const { url, cookie } = await sessions.beginSignIn(returnPath(ctx.query.to));
    cookies.set(ctx, 'sign_in', cookie, PENDING_SECONDS);
    seeOther(ctx, url);
  });

  router.get('/signed-in', async (ctx) => {
    if (options.rateLimit) await limiter.count(requestInfo(ctx.req).address);
    const pending = cookies.get(ctx, 'sign_in');
    cookies.remove(ctx, 'sign_in');
    try {
      const answer = new URL(ctx.url, publicUrl);
      const begun = await sessions.finishSignIn(answer, pending);
      if (begun === undefined) return sendPage(ctx, signInFailedPage(), 400);
      const before = cookies.get(ctx, 'session');
      const earlier = before === undefined ? undefined : await sessions.find(before);
      if (earlier !== undefined) await sessions.end(earlier);
      cookies.set(ctx, 'session', begun.cookie, options.sessionSeconds);
      seeOther(ctx, begun.returnTo);
    } catch (error) {
      if (!(error instanceof SignInRefused)) throw error;
      sendPage(ctx, signInFailedPage(), 400);
    }
  });

  router.post('/sign-out', async (ctx) => {
    const cookie = cookies.get(ctx, 'session');
    const session = cookie === undefined ? undefined : await sessions.find(cookie);
    if (session !== undefined) {
      await forms.read(ctx, session);
      await sessions.end(session);
    } else if (ctx.get('sec-fetch-site') === 'cross-site') throw new CsrfError();
    cookies.remove(ctx, 'session');
    seeOther(ctx, options.signOutUrl);
  });

  router.get('/signed-out', (ctx) => sendPage(ctx, signedOutPage()));
  return router;
}
