import { ServiceError, unavailable } from '@gatehouse/core/errors';
import { createKeyedSemaphore } from '@gatehouse/core/keyed-semaphore';
import { requestInfo } from '@gatehouse/server/requests';
import type { Role } from '@gatehouse/tokens/scopes';
import Router from '@koa/router';
import type { Context } from 'koa';
import type { Connect } from '../api/api.ts';
import { ApiError } from '../api/api-error.ts';
import type { Cookies } from '../http/cookies.ts';
import { CsrfError, type Fields, type FormOptions, type Forms, type SentFields } from '../http/forms.ts';
import type { RepeatedForms } from '../http/repeated-forms.ts';
import { seeOther, sendPage } from '../http/respond.ts';
import type { ImportKind } from '../imports/import-batches.ts';
import type { Imports } from '../imports/imports.ts';
import { layout, type NavigationEntry } from '../pages/layout.ts';
import { errorView, sendAgainPage, sessionEndedPage } from '../pages/status-pages.ts';
import type { View } from '../pages/view.ts';
import { SignInEnded } from '../sessions/oauth-client.ts';
import { hasRole, type Session } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { createVisits, isPolling, type Visit } from './visit.ts';

/** The name in a query of a page that is kept: see Visit.putRefused. */
const REFUSED = 'refused';

type Act = (visit: Visit, fields: Fields) => Promise<string | View>;

/** A form of those with a role may be large; that of anybody else is read as any other. */
type RouteOptions = FormOptions & { role?: Role };

/** How many large forms are in memory at a time. */
const LARGE = { permits: 2, maxWaiting: 100, maxWaitMs: 30_000 };

/** Pages and forms for those who are signed in. */
export type DashboardRouter = {
  /** A page: returns it, or the path of another one to go on to. */
  get(path: string, show: (visit: Visit) => Promise<View | string> | View): void;
  /** A form: returns the page to go on to, or one that says what has to be corrected. */
  post(path: string, act: Act, options?: RouteOptions): void;
  /** A form that the API does not take once, however often it is sent: see RepeatedForms. */
  postOnce(path: string, act: Act): void;
  /** Something other than a page, such as a download. */
  raw(path: string, respond: (visit: Visit) => Promise<void>): void;
  imports: Imports;
};

/** A part of the dashboard: its entry in the navigation, and its pages and forms. */
export type Section = NavigationEntry &
  UnlistedPages & {
    search?: SectionSearch;
    /** How rows of files become what it is about. */
    importKind?: ImportKind;
  };

/** Pages and forms without an entry in the navigation. */
export type UnlistedPages = { addRoutes(router: DashboardRouter): void };

/** A result of the search: the page of an object, or another page. */
export type Hit = { href: string; title: string; detail?: string };

/** Results of one kind, and the URL of the list that has more of them. */
export type Found = { hits: readonly Hit[]; all?: string };

/** How the search finds the pages and the objects of a section. */
export type SectionSearch = {
  /** Pages beside the first one. */
  pages?: readonly (Hit & Pick<NavigationEntry, 'role'>)[];
  /** By the prefix of an id: finds the object that has it. Throws ApiError where the person sees none. */
  byId?: Readonly<Record<string, (visit: Visit, id: string) => Promise<Hit>>>;
  /** Finds objects by their names. Throws ApiError. */
  byName?(visit: Visit, text: string): Promise<Found>;
};

/** The pages of all sections, under the headings of the navigation. */
export function createDashboardRouter(options: {
  sections: readonly (readonly [heading: string, sections: readonly Section[]])[];
  unlisted?: readonly UnlistedPages[];
  sessions: Sessions;
  forms: Forms;
  repeatedForms: RepeatedForms;
  cookies: Cookies;
  api: Connect;
  imports: Imports;
}): Router {
  const { sections, unlisted = [], sessions, forms, repeatedForms, cookies, api, imports } = options;
  const router = new Router({ prefix: '/dashboard', sensitive: true });
  const large = createKeyedSemaphore(LARGE);
  const { sessionOf, visitOf } = createVisits({ sessions, forms, cookies, api });

  /** The response to a form is kept for a page of its own: reloading that does not send the form again. */
  async function show(visit: Visit, view: View): Promise<void> {
    const { person, csrf, ctx } = visit;
    const status = view.status ?? (view.failed ? 400 : 200);
    const html = layout(view, { person, csrf }, sections);
    if (ctx.method !== 'POST') return sendPage(ctx, html, status);
    seeOther(ctx, `${pageOf(router, ctx.path)}?${REFUSED}=${await visit.putRefused({ status, html })}`);
  }

  const sendAgain = (ctx: Context, sent: SentFields | undefined, session?: Session) =>
    sendFormAgain(ctx, sent, {
      ...{ action: ctx.path, returnTo: pageOf(router, ctx.path) },
      ...{ csrf: session === undefined ? '' : forms.token(session), person: session?.person.name },
    });

  /** Answers with a page that says why the API refused, or sends the person to sign in again. */
  async function refuse(visit: Visit, error: unknown, onEnd: () => void): Promise<void> {
    // Back on the page, the person decides again.
    if (error instanceof ApiError && error.takesSignIn) return toSignIn(router, visit.ctx, { again: 'yes' });
    if (error instanceof SignInEnded || (error instanceof ApiError && error.status === 401)) {
      cookies.remove(visit.ctx, 'session');
      onEnd();
    } else if (error instanceof ApiError) {
      await show(visit, errorView(error, requestInfo(visit.ctx.req).id));
    } else throw error;
  }

  function reading(path: string, respond: (visit: Visit) => Promise<void>): void {
    router.get(path, async (ctx) => {
      const session = await sessionOf(ctx);
      if (session === undefined) return askToSignIn(router, ctx);
      const visit = visitOf(ctx, session);
      const refused = visit.query(REFUSED);
      const kept = refused === '' ? undefined : await sessions.takeRefused(session, refused);
      if (kept !== undefined) return sendPage(ctx, kept.html, kept.status);
      try {
        await respond(visit);
      } catch (error) {
        await refuse(visit, error, () => askToSignIn(router, ctx));
      }
    });
  }

  function post(path: string, act: Act, { role, ...options }: RouteOptions = {}): void {
    async function respond(ctx: Context, session: Session | undefined, taken: FormOptions): Promise<void> {
      const fields = await forms.read(ctx, session, taken).catch((error: unknown) => {
        if (error instanceof CsrfError) sendAgain(ctx, error.sent, session);
        else throw error;
      });
      if (session === undefined || fields === undefined) return;
      const visit = visitOf(ctx, session, fields);
      try {
        const outcome = await act(visit, fields);
        if (typeof outcome === 'string') seeOther(ctx, outcome);
        else await show(visit, outcome);
      } catch (error) {
        await refuse(visit, error, () => sendAgain(ctx, fields.sent));
      }
    }
    router.post(path, async (ctx) => {
      const session = await sessionOf(ctx);
      if (role === undefined) return respond(ctx, session, options);
      const { files = false } = options;
      if (session === undefined || !hasRole(session.person, role)) return respond(ctx, session, { files });
      if (!(await large.acquire('', LARGE.maxWaitMs))) throw unavailable('Too many files are being sent.');
      try {
        await respond(ctx, session, options);
      } finally {
        large.release('');
      }
    });
  }

  const pages: DashboardRouter = {
    imports,
    raw: reading,
    get: (path, toView) =>
      reading(path, async (visit) => {
        const outcome = await toView(visit);
        if (typeof outcome === 'string') seeOther(visit.ctx, outcome);
        else await show(visit, outcome);
      }),
    post,
    postOnce: (path, act) =>
      post(path, (visit, fields) => repeatedForms.once(fields.idempotencyKey, () => act(visit, fields))),
  };
  for (const { addRoutes } of [...sections.flatMap(([, inside]) => inside), ...unlisted]) addRoutes(pages);
  return router;
}

/** The page with the form that goes to a path: the nearest that there is, as some forms go to paths of their own. */
function pageOf(router: Router, path: string): string {
  let page = path;
  while (page !== '/dashboard' && !router.match(page, 'GET').route)
    page = page.slice(0, page.lastIndexOf('/'));
  return page;
}

function toSignIn(router: Router, ctx: Context, more: Record<string, string> = {}): void {
  const to = ctx.method === 'POST' ? pageOf(router, ctx.path) + ctx.search : ctx.url;
  const location = `/dashboard/sign-in?${new URLSearchParams({ to, ...more })}`;
  if (ctx.get('hx-request') === 'true') {
    // htmx would follow a redirect unseen, and put the sign-in page into a part of this one.
    ctx.status = 204;
    ctx.set({ 'hx-redirect': location, 'cache-control': 'no-store' });
  } else seeOther(ctx, location);
}

/** Answers a form of an earlier session with what was sent, if it surely came from a page of ours. */
function sendFormAgain(
  ctx: Context,
  sent: SentFields | undefined,
  again: Omit<Parameters<typeof sendAgainPage>[0], 'sent'>,
): void {
  const page = sent === undefined ? sessionEndedPage() : sendAgainPage({ ...again, sent });
  sendPage(ctx, page, again.person === undefined ? 401 : 403);
}

/** An automatic refresh signs nobody in: the page would never be left. */
function askToSignIn(router: Router, ctx: Context): void {
  if (isPolling(ctx)) throw new ServiceError('unauthenticated', 'Your session has ended.');
  toSignIn(router, ctx);
}
