import { createHash } from 'node:crypto';
import { createAddressLimiter } from '@gatehouse/api/http/rate-limit';
import { requestInfo } from '@gatehouse/server/requests';
import { isFromOtherOrigin } from '@gatehouse/web/form-origin';
import { isOtherLoopback } from '@gatehouse/web/loopback';
import Router from '@koa/router';
import { causeOf } from '../api/cause.ts';
import type { CookieName, Cookies } from '../http/cookies.ts';
import { CsrfError, type Forms } from '../http/forms.ts';
import { seeOther, sendPage } from '../http/respond.ts';
import { returnPath } from '../http/return-to.ts';
import { signedOutPage, signInFailedPage } from '../pages/status-pages.ts';
import { SignInEnded, SignInRefused } from '../sessions/oauth-client.ts';
import type { Sessions } from '../sessions/sessions.ts';

/** Exchanges of codes, each of which asks identity and may store a session. */
const SIGN_INS = { name: 'dashboard sign-ins', quota: 120, seconds: 60 };
const PENDING_SECONDS = 600;
/** For the cookies of all sign-ins of a browser that are under way, in bytes: a request's header may have 16 KiB. */
const PENDING_BYTES = 6000;

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
    // Identity leads back to the public URL, where the cookie of another name of this machine is not sent.
    if (isOtherLoopback(ctx.hostname, publicUrl)) return seeOther(ctx, publicUrl + ctx.url);
    const { url, state, cookie } = await sessions.beginSignIn(
      returnPath(ctx.query.to),
      ctx.query.again === 'yes',
    );
    let room = PENDING_BYTES - cookie.length;
    for (const { name, value } of cookies.signIns(ctx).reverse()) {
      room -= name.length + value.length;
      if (room < 0) cookies.remove(ctx, name);
    }
    cookies.set(ctx, signInName(state), cookie, PENDING_SECONDS);
    seeOther(ctx, url);
  });

  router.get('/signed-in', async (ctx) => {
    if (options.rateLimit) await limiter.count(requestInfo(ctx.req).address);
    const cause = causeOf(ctx.req);
    const response = new URL(ctx.url, publicUrl);
    const name = signInName(response.searchParams.get('state') ?? '');
    const pending = cookies.get(ctx, name);
    const session = cookies.get(ctx, 'session');
    const begun = await sessions
      .finishSignIn(response, { pending, session }, cause)
      .catch((error: unknown) => {
        if (!(error instanceof SignInRefused || error instanceof SignInEnded)) throw error;
      });
    if (pending !== undefined) cookies.remove(ctx, name);
    if (begun !== undefined) {
      cookies.set(ctx, 'session', begun.cookie, options.sessionSeconds);
      seeOther(ctx, begun.returnTo);
    } else if (session !== undefined && (await sessions.find(session, cause)) !== undefined) {
      // Signed in by another tab, or before.
      seeOther(ctx, '/dashboard');
    } else sendPage(ctx, signInFailedPage(), 400);
  });

  router.post('/sign-out', async (ctx) => {
    const cookie = cookies.get(ctx, 'session');
    const session = cookie === undefined ? undefined : await sessions.find(cookie, causeOf(ctx.req));
    if (session !== undefined) {
      await forms.read(ctx, session);
      await sessions.end(session, causeOf(ctx.req));
    } else if (isFromOtherOrigin(ctx, publicUrl)) throw new CsrfError();
    cookies.remove(ctx, 'session');
    seeOther(ctx, options.signOutUrl);
  });

  router.get('/signed-out', (ctx) => sendPage(ctx, signedOutPage()));
  return router;
}

function signInName(state: string): CookieName {
  return `sign_in_${createHash('sha256').update(state).digest('base64url').slice(0, 12)}`;
}
