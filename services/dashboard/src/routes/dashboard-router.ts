import { ServiceError } from '@gatehouse/kit/errors';
import { requestInfo } from '@gatehouse/kit/requests';
import Router from '@koa/router';
import type { Context } from 'koa';
import type { Api, TokenSource } from '../api/api.ts';
import { ApiError } from '../api/api-error.ts';
import { type Cause, causeOf } from '../api/cause.ts';
import type { Cookies } from '../http/cookies.ts';
import type { Fields, Forms } from '../http/forms.ts';
import { seeOther, sendPage } from '../http/respond.ts';
import { layout } from '../pages/layout.ts';
import { refusalView, sessionEndedPage } from '../pages/status-pages.ts';
import type { View } from '../pages/view.ts';
import { SignInEnded } from '../sessions/oauth-client.ts';
import type { Session } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';

/** A request for a page by somebody who is signed in. */
export type Visit = {
  ctx: Context;
  person: Session['person'];
  api: Api;
  /** The token for forms. */
  csrf: string;
  /** A parameter of the path. */
  param(name: string): string;
  /** A parameter of the query; empty when it is missing. */
  query(name: string): string;
  /** Keeps a text, such as a new secret, for the page that follows. */
  putOnce(text: string): Promise<void>;
  takeOnce(): Promise<string | undefined>;
};

/** Pages and forms for those who are signed in. */
export type DashboardRouter = {
  router: Router;
  get(path: string, show: (visit: Visit) => Promise<View> | View): void;
  /** A form: returns the page to go on to, or one that says what has to be corrected. */
  post(path: string, act: (visit: Visit, fields: Fields) => Promise<string | View>): void;
  /** Something other than a page, such as a download. */
  raw(path: string, answer: (visit: Visit) => Promise<void>): void;
};

export function createDashboardRouter(options: {
  sessions: Sessions;
  forms: Forms;
  cookies: Cookies;
  api: (tokens: TokenSource, cause: Cause) => Api;
}): DashboardRouter {
  const { sessions, forms, cookies, api } = options;
  const router = new Router({ prefix: '/dashboard', sensitive: true });

  async function sessionOf(ctx: Context): Promise<Session | undefined> {
    const cookie = cookies.get(ctx, 'session');
    // A cookie whose session has ended stays: by the time of the answer, another tab may have replaced it.
    return cookie === undefined ? undefined : sessions.find(cookie, causeOf(ctx.req));
  }

  function visitOf(ctx: Context, signedIn: Session): Visit {
    let session = signedIn;
    const info = requestInfo(ctx.req);
    info.route = String(ctx._matchedRoute);
    info.subject = session.person.id;
    const cause = causeOf(ctx.req);
    const tokens: TokenSource = async (refused) => {
      if (refused === session.tokens.access) session = await sessions.renew(session, cause);
      return session.tokens.access;
    };
    return {
      ctx,
      get person() {
        return session.person;
      },
      api: api(tokens, cause),
      csrf: forms.token(session),
      param: (name) => String(ctx.params[name]),
      query: (name) => {
        const value = ctx.query[name];
        return typeof value === 'string' ? value : '';
      },
      putOnce: (text) => sessions.putOnce(session, text),
      takeOnce: () => sessions.takeOnce(session),
    };
  }

  function show(visit: Visit, view: View): void {
    const { person, csrf, ctx } = visit;
    sendPage(ctx, layout(view, { person, csrf }), view.status ?? (view.failed ? 400 : 200));
  }

  /** Answers with a page that says why the API refused, or sends the person to sign in again. */
  function refuse(visit: Visit, error: unknown, onEnd: () => void): void {
    if (error instanceof SignInEnded || (error instanceof ApiError && error.status === 401)) {
      cookies.remove(visit.ctx, 'session');
      onEnd();
    } else if (error instanceof ApiError) {
      show(visit, refusalView(error, requestInfo(visit.ctx.req).id));
    } else throw error;
  }

  const toSignIn = (ctx: Context) =>
    seeOther(ctx, `/dashboard/sign-in?${new URLSearchParams({ to: ctx.url })}`);

  function reading(path: string, answer: (visit: Visit) => Promise<void>): void {
    router.get(path, async (ctx) => {
      const session = await sessionOf(ctx);
      if (session === undefined) return toSignIn(ctx);
      const visit = visitOf(ctx, session);
      try {
        await answer(visit);
      } catch (error) {
        refuse(visit, error, () => toSignIn(ctx));
      }
    });
  }

  return {
    router,
    raw: reading,
    get: (path, toView) => reading(path, async (visit) => show(visit, await toView(visit))),
    post(path, act) {
      router.post(path, async (ctx) => {
        const session = await sessionOf(ctx);
        if (session === undefined) return sendPage(ctx, sessionEndedPage(), 401);
        const fields = await forms.read(ctx, session);
        const visit = visitOf(ctx, session);
        try {
          const outcome = await act(visit, fields);
          if (typeof outcome === 'string') seeOther(ctx, outcome);
          else show(visit, outcome);
        } catch (error) {
          refuse(visit, error, () => sendPage(ctx, sessionEndedPage(), 401));
        }
      });
    },
  };
}

/** A page that does not exist, as an error of the API would be. */
export function notFound(): ApiError {
  return new ApiError(404, new ServiceError('not_found', 'There is nothing here.').message);
}
