import { ServiceError } from '@gatehouse/core/errors';
import { isId, isUserId } from '@gatehouse/core/ids';
import { requestInfo } from '@gatehouse/server/requests';
import type { Context } from 'koa';
import type { Api, Connect, TokenSource } from '../api/api.ts';
import { ApiError } from '../api/api-error.ts';
import { causeOf } from '../api/cause.ts';
import type { Cookies } from '../http/cookies.ts';
import type { Fields, Forms } from '../http/forms.ts';
import type { ImportStarter } from '../imports/imports.ts';
import type { Session } from '../sessions/session.ts';
import type { RefusedPage, Sessions } from '../sessions/sessions.ts';

/** A request for a page by somebody who is signed in. */
export type Visit = {
  ctx: Context;
  person: Session['person'];
  /** The session and the request, for what goes on without them. */
  starter: ImportStarter;
  api: Api;
  /** The same for one of the things that a form creates in any order: by a name, which it has again when the form is sent again. */
  apiFor(part: string): Api;
  /** The token for forms. */
  csrf: string;
  /** A parameter of the path. */
  param(name: string): string;
  /** The id in the path. Throws ApiError (404) unless it has this prefix: it is not to name another path of the API. */
  id(prefix: string): string;
  /** A parameter of the query; empty when it is missing. */
  query(name: string): string;
  /** Keeps a text, such as a new secret, for the next view of the page at this path. */
  putFlash(path: string, text: string): Promise<void>;
  /** The texts that were kept for this page, the oldest first. To be called when nothing else can keep the page from being shown. */
  takeFlashes(): Promise<string[]>;
  /** Keeps the response to a form for the page that follows; returns its name in the query of that page. */
  putRefused(page: RefusedPage): Promise<string>;
};

/** Finds the session of a request, and makes the visit that pages are given. */
export function createVisits(options: { sessions: Sessions; forms: Forms; cookies: Cookies; api: Connect }) {
  const { sessions, forms, cookies, api } = options;

  async function sessionOf(ctx: Context): Promise<Session | undefined> {
    const cookie = cookies.get(ctx, 'session');
    // A cookie whose session has ended stays: by the time of the response, another tab may have replaced it.
    const isUse = !isPolling(ctx);
    return cookie === undefined ? undefined : sessions.find(cookie, causeOf(ctx.req), isUse);
  }

  function visitOf(ctx: Context, signedIn: Session, sent?: Fields): Visit {
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
      get starter() {
        return { person: session.person, sessionId: session.id, cause };
      },
      api: api(tokens, cause, sent?.idempotencyKey),
      apiFor: (part) => api(tokens, cause, sent && `${sent.idempotencyKey}-${part}`),
      csrf: sent?.token ?? forms.token(session),
      param: (name) => String(ctx.params[name]),
      id(prefix) {
        const id = String(ctx.params.id);
        if (!(prefix === 'usr' ? isUserId(id) : isId(prefix, id))) throw notFound();
        return id;
      },
      query: (name) => {
        const value = ctx.query[name];
        return typeof value === 'string' ? value : '';
      },
      putFlash: (path, text) => sessions.putFlash(session, path, text),
      takeFlashes: async () => (ctx.method === 'GET' ? sessions.takeFlashes(session, ctx.path) : []),
      putRefused: (page) => sessions.putRefused(session, page),
    };
  }

  return { sessionOf, visitOf };
}

/** Whether the request is an automatic refresh, which page.js says. It neither keeps a session nor begins another. */
export function isPolling(ctx: Context): boolean {
  return ctx.get('x-polling') === 'true';
}

/** A page that does not exist, as an error of the API would be. */
export function notFound(): ApiError {
  return new ApiError(404, new ServiceError('not_found', 'There is nothing here.').message);
}
