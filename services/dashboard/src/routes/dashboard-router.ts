import { ServiceError } from '@gatehouse/kit/errors';
import { isId } from '@gatehouse/kit/ids';
import { requestInfo } from '@gatehouse/kit/requests';
import Router from '@koa/router';
import type { Context } from 'koa';
import type { Api, Connect, TokenSource } from '../api/api.ts';
import { ApiError } from '../api/api-error.ts';
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
  /** The id in the path. Throws ApiError (404) unless it has this prefix: it is not to name another path of the API. */
  id(prefix: string): string;
  /** A parameter of the query; empty when it is missing. */
  query(name: string): string;
  /** Keeps a text, such as a new secret, for the next view of the page at this path. */
  putOnce(path: string, text: string): Promise<void>;
  /** What was kept for this page, the oldest first. To be called when nothing else can keep the page from being shown. */
  takeOnce(): Promise<string[]>;
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
  api: Connect;
}): DashboardRouter {
  const { sessions, forms, cookies, api } = options;
  const router = new Router({ prefix: '/dashboard', sensitive: true });

  async function sessionOf(ctx: Context): Promise<Session | undefined> {
    const cookie = cookies.get(ctx, 'session');
    const session = cookie === undefined ? undefined : await sessions.find(cookie);
    if (session === undefined && cookie !== undefined) cookies.remove(ctx, 'session');
    return session;
  }

  function visitOf(ctx: Context, signedIn: Session, sent?: Fields): Visit {
    let session = signedIn;
    const info = requestInfo(ctx.req);
    info.route = String(ctx._matchedRoute);
    info.subject = session.person.id;
    const tokens: TokenSource = async (refused) => {
      if (refused === session.tokens.access) session = await sessions.renew(session);
      return session.tokens.access;
    };
    return {
      ctx,
      get person() {
        return session.person;
      },
      api: api(tokens, { requestId: info.id, address: info.address }, sent?.idempotencyKey),
      csrf: sent?.token ?? forms.token(session),
      param: (name) => String(ctx.params[name]),
      id(prefix) {
        if (!isId(prefix, String(ctx.params.id))) throw notFound();
        return String(ctx.params.id);
      },
      query: (name) => {
        const value = ctx.query[name];
        return typeof value === 'string' ? value : '';
      },
      putOnce: (path, text) => sessions.putOnce(session, path, text),
      takeOnce: async () => (ctx.method === 'GET' ? sessions.takeOnce(session, ctx.path) : []),
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

  function toSignIn(ctx: Context): void {
    const location = `/dashboard/sign-in?${new URLSearchParams({ to: ctx.url })}`;
    if (ctx.get('hx-request') === 'true') {
      // htmx would follow a redirect unseen, and put the sign-in page into a part of this one.
      ctx.status = 204;
      ctx.set({ 'hx-redirect': location, 'cache-control': 'no-store' });
    } else seeOther(ctx, location);
  }

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
        const visit = visitOf(ctx, session, fields);
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
