import { type Audit, originOf } from '../audit/audit.ts';
import type { Logins } from '../logins/logins.ts';
import { applicationsPage } from '../pages/applications-page.ts';
import { sessionsPage } from '../pages/sessions-page.ts';
import { ACCOUNT_PAGES, type AccountRouter, END_CREDENTIALS } from './account-router.ts';
import type { AuthorizedApplications } from './authorized-applications.ts';
import { type BrowserSessions, MAX_LISTED } from './browser-sessions.ts';
import type { OwnApplications } from './own-applications.ts';
import { sendPage } from './page-response.ts';

/** The account pages for who has access: authorized applications, sessions, and signing out. */
export function addAccessRoutes(
  { get, post }: AccountRouter,
  options: {
    applications: AuthorizedApplications;
    own: OwnApplications;
    sessions: BrowserSessions;
    logins: Logins;
    audit: Audit;
  },
): void {
  const { applications, own, sessions, logins, audit } = options;

  get(ACCOUNT_PAGES.applications, async (ctx, { signedIn: { account }, frame, csrf }, done) => {
    const html = applicationsPage({
      frame,
      role: account.role,
      applications: (await applications.list(account.id)).map(({ clientId, ...application }) => ({
        ...application,
        revoke: { action: '/account/applications/revoke', csrf, hidden: { client_id: clientId } },
      })),
      own: await own.list(account.id, originOf(ctx)),
      endCredentials: { action: END_CREDENTIALS, csrf },
      notice: (['revoked', 'credentials_ended'] as const).find((name) => name === done),
    });
    sendPage(ctx, html);
  });

  post('/account/applications/revoke', async (ctx, { account }, fields) => {
    const client = fields.get('client_id') ?? '';
    if (await applications.revoke(account.id, client)) {
      await audit.record({ action: 'grant.revoked', origin: originOf(ctx), subject: account.id, client });
    }
    return `${ACCOUNT_PAGES.applications}?done=revoked`;
  });

  post(END_CREDENTIALS, async (ctx, { account }) => {
    await own.endCredentials(account.id, originOf(ctx));
    return `${ACCOUNT_PAGES.applications}?done=credentials_ended`;
  });

  get(ACCOUNT_PAGES.sessions, async (ctx, { signedIn: { account, session }, frame, csrf }, done) => {
    const list = (await sessions.list(account.id)).map(({ uid, device, ...times }) => ({
      ...times,
      address: device?.address ?? 'unknown',
      userAgent: device?.userAgent,
      current: uid === session.uid,
      end: { action: '/account/sessions/end', csrf, hidden: { session: uid } },
    }));
    const html = sessionsPage({
      frame,
      // This device comes first.
      isComplete: list.length < MAX_LISTED,
      sessions: list.toSorted((a, b) => Number(b.current) - Number(a.current)),
      logins: (await logins.list(account)).map((login) => ({
        ...login,
        end: { action: '/account/logins/end', csrf, hidden: { login: login.id } },
      })),
      endOthers: { action: '/account/sessions/end-others', csrf },
      notice: (['ended', 'login_ended', 'others_ended'] as const).find((name) => name === done),
    });
    sendPage(ctx, html);
  });

  post('/account/sessions/end', async (ctx, signedIn, fields) => {
    const { account, session } = signedIn;
    const uid = fields.get('session') ?? '';
    const own = uid === session.uid;
    await (own ? sessions.endCurrent(ctx, signedIn) : sessions.end(account.id, uid));
    await audit.record({ action: 'session.ended', origin: originOf(ctx), subject: account.id });
    return own ? '/account/signed-out' : `${ACCOUNT_PAGES.sessions}?done=ended`;
  });

  post('/account/logins/end', async (ctx, { account }, fields) => {
    if (await logins.end(account.id, fields.get('login') ?? '')) {
      await audit.record({ action: 'session.ended', origin: originOf(ctx), subject: account.id });
    }
    return `${ACCOUNT_PAGES.sessions}?done=login_ended`;
  });

  post('/account/sessions/end-others', async (ctx, { account, session }) => {
    await Promise.all([sessions.endOthers(account.id, session.uid), logins.endAll(account.id)]);
    await audit.record({ action: 'session.ended', origin: originOf(ctx), subject: account.id });
    return `${ACCOUNT_PAGES.sessions}?done=others_ended`;
  });

  post('/account/sign-out', async (ctx, signedIn) => {
    await sessions.endCurrent(ctx, signedIn);
    await audit.record({ action: 'sign_out', origin: originOf(ctx), subject: signedIn.account.id });
    return '/account/signed-out';
  });
}
