import type { PageForm } from '@gatehouse/ui/form';
import { describeProgram, describeUserAgent } from '@gatehouse/ui/user-agent';
import { type Audit, originOf } from '../audit/audit.ts';
import type { Logins } from '../logins/logins.ts';
import { applicationsPage } from '../pages/applications-page.ts';
import { type DeviceView, sessionsPage } from '../pages/sessions-page.ts';
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
    const list = await sessions.list(account.id);
    const views = list.map(({ uid, device, ...times }) => ({
      name: describeUserAgent(device?.userAgent),
      use: {
        ...times,
        address: device?.address ?? 'unknown',
        current: uid === session.uid,
        end: { action: '/account/sessions/end', csrf, hidden: { session: uid } },
      },
    }));
    const programs = (await logins.list(account)).map((login) => ({
      name: describeProgram(login.userAgent),
      use: { ...login, end: { action: '/account/logins/end', csrf, hidden: { login: login.id } } },
    }));
    const html = sessionsPage({
      frame,
      isComplete: list.length < MAX_LISTED,
      // This device comes first.
      devices: byName(
        views.toSorted((a, b) => Number(b.use.current) - Number(a.use.current)),
        (device) => ({ action: '/account/sessions/end-device', csrf, hidden: { device } }),
      ),
      programs: byName(programs, (program) => ({
        action: '/account/logins/end-program',
        csrf,
        hidden: { program },
      })),
      endOthers: { action: '/account/sessions/end-others', csrf },
      notice: NOTICES.find((name) => name === done),
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

  post('/account/sessions/end-device', async (ctx, { account, session }, fields) => {
    const name = fields.get('device');
    await sessions.endWhere(
      account.id,
      ({ uid, device }) => uid !== session.uid && describeUserAgent(device?.userAgent) === name,
    );
    await audit.record({ action: 'session.ended', origin: originOf(ctx), subject: account.id });
    return `${ACCOUNT_PAGES.sessions}?done=device_ended`;
  });

  post('/account/logins/end-program', async (ctx, { account }, fields) => {
    const name = fields.get('program');
    for (const { id, userAgent } of await logins.list(account)) {
      if (describeProgram(userAgent) === name) await logins.end(account.id, id);
    }
    await audit.record({ action: 'session.ended', origin: originOf(ctx), subject: account.id });
    return `${ACCOUNT_PAGES.sessions}?done=program_ended`;
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

const NOTICES = ['ended', 'device_ended', 'login_ended', 'program_ended', 'others_ended'] as const;

/** Uses of the same name together, in the order of the first of each. */
function byName<T>(
  uses: readonly { name: string; use: T }[],
  endAll: (name: string) => PageForm,
): DeviceView<T>[] {
  return [...Map.groupBy(uses, ({ name }) => name)].map(([name, those]) => {
    return { name, uses: those.map(({ use }) => use), endAll: endAll(name) };
  });
}
