import type { PageForm } from '@gatehouse/web/form';
import { describeProgram, describeUserAgent } from '@gatehouse/web/user-agent';
import type { Context } from 'koa';
import { type Audit, originOf } from '../../../core/audit/audit.ts';
import type { OfAccount } from '../../../core/oidc/adapter/oidc-adapter.ts';
import type { Device } from '../../../core/oidc/epochs/sign-in-epochs.ts';
import { type BrowserSessions, MAX_LISTED } from '../../../core/sessions/browser-sessions.ts';
import { listPrograms, type ProgramSessions } from '../../../core/sessions/program-sessions.ts';
import type { KeptSession, SessionEnds } from '../../../core/sessions/session-ends.ts';
import { sendPage } from '../../../pages/page-response.ts';
import { ACCOUNT_PAGES, type AccountRouter, END_CREDENTIALS } from '../account-router.ts';
import { endCredentialsQuestion, endOthersQuestion } from './access-questions.ts';
import { applicationsPage } from './applications-page.ts';
import type { AuthorizedApplications } from './authorized-applications.ts';
import type { OwnApplications } from './own-applications.ts';
import { type DeviceView, sessionsPage } from './sessions-page.ts';

const END_OTHERS = '/account/sessions/end-others';

/** The account pages for who has access: authorized applications, sessions, and signing out. */
export function addAccessRoutes(
  { get, post, confirmed }: AccountRouter,
  options: {
    applications: AuthorizedApplications;
    own: OwnApplications;
    sessions: BrowserSessions;
    sessionEnds: SessionEnds;
    programs: readonly Pick<ProgramSessions, 'list'>[];
    audit: Audit;
  },
): void {
  const { applications, own, sessions, sessionEnds, programs, audit } = options;
  const ended = (ctx: Context) => ({ action: 'session.ended', origin: originOf(ctx) }) as const;

  get(ACCOUNT_PAGES.applications, async (ctx, { signedIn: { account }, frame, csrf }, done) => {
    const html = applicationsPage({
      frame,
      role: account.role,
      applications: (await applications.list(account.id)).map(({ clientId, ...application }) => ({
        ...application,
        revoke: { action: '/account/applications/revoke', csrf, hidden: { client_id: clientId } },
      })),
      own: await own.list(account.id, originOf(ctx)),
      endCredentials: END_CREDENTIALS,
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

  confirmed(END_CREDENTIALS, 'applications', async (ctx, { account }) => ({
    ...endCredentialsQuestion(
      account.username,
      await own.list(account.id, originOf(ctx)),
      ACCOUNT_PAGES.applications,
    ),
    async act() {
      await own.endCredentials(account.id, originOf(ctx));
      return `${ACCOUNT_PAGES.applications}?done=credentials_ended`;
    },
  }));

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
    const uses = (await listPrograms(programs, account)).map((login) => ({
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
      programs: byName(uses, (program) => ({
        action: '/account/logins/end-program',
        csrf,
        hidden: { program },
      })),
      endOthers: END_OTHERS,
      notice: NOTICES.find((name) => name === done),
    });
    sendPage(ctx, html);
  });

  post('/account/sessions/end', async (ctx, signedIn, fields) => {
    const { account, session } = signedIn;
    const uid = fields.get('session') ?? '';
    const own = uid === session.uid;
    await sessionEnds.end(account.id, uid, ended(ctx));
    if (own) sessions.forget(ctx);
    return own ? '/account/signed-out' : `${ACCOUNT_PAGES.sessions}?done=ended`;
  });

  post('/account/sessions/end-device', async (ctx, { account, session }, fields) => {
    const name = fields.get('device');
    const isOn = ({ id, payload }: OfAccount) =>
      id !== session.uid && describeUserAgent((payload.device as Device | undefined)?.userAgent) === name;
    await sessionEnds.endSessions(account.id, isOn, ended(ctx));
    return `${ACCOUNT_PAGES.sessions}?done=device_ended`;
  });

  post('/account/logins/end-program', async (ctx, { account }, fields) => {
    const name = fields.get('program');
    const those = (await listPrograms(programs, account)).filter(
      (login) => describeProgram(login.userAgent) === name,
    );
    await sessionEnds.endLogins(
      account.id,
      those.map(({ id }) => id),
      ended(ctx),
    );
    return `${ACCOUNT_PAGES.sessions}?done=program_ended`;
  });

  post('/account/logins/end', async (ctx, { account }, fields) => {
    await sessionEnds.end(account.id, fields.get('login') ?? '', ended(ctx));
    return `${ACCOUNT_PAGES.sessions}?done=login_ended`;
  });

  confirmed(END_OTHERS, 'sessions', async (ctx, { account, session }) => {
    const others = (await sessions.list(account.id)).filter(({ uid }) => uid !== session.uid);
    const logins = await listPrograms(programs, account);
    const uses = [...others.map((it) => it.lastSeenAt), ...logins.map((it) => it.lastUsedAt)];
    const counts = {
      sessions: others.length,
      logins: logins.length,
      lastUsedAt: uses.toSorted((a, b) => a.getTime() - b.getTime()).at(-1),
    };
    return {
      ...endOthersQuestion(counts, ACCOUNT_PAGES.sessions),
      async act() {
        await sessionEnds.endAll(account.id, ended(ctx), session as KeptSession);
        return `${ACCOUNT_PAGES.sessions}?done=others_ended`;
      },
    };
  });

  post('/account/sign-out', async (ctx, signedIn) => {
    await sessionEnds.signOut(signedIn.session.uid, { origin: originOf(ctx) });
    sessions.forget(ctx);
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
