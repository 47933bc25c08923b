import type { PageForm } from '@gatehouse/web/form';
import { untickedIn } from '@gatehouse/web/tick-list';
import { describeProgram, describeUserAgent } from '@gatehouse/web/user-agent';
import type { Context } from 'koa';
import type { Account, Accounts } from '../../../core/accounts/account.ts';
import { originOf } from '../../../core/audit/audit.ts';
import {
  type AccessSource,
  findKeptWithoutMember,
  listAccess,
} from '../../../core/authority/standing-access.ts';
import type { OfAccount } from '../../../core/oidc/adapter/oidc-adapter.ts';
import type { AuthorizedApplications } from '../../../core/oidc/authorized-applications.ts';
import type { Device } from '../../../core/oidc/epochs/sign-in-epochs.ts';
import type { AccountPage, AccountRouter } from '../../../core/sessions/account-router.ts';
import { type BrowserSessions, MAX_LISTED } from '../../../core/sessions/browser-sessions.ts';
import { listPrograms, type ProgramSessions } from '../../../core/sessions/program-sessions.ts';
import type { KeptSession, SessionEnds } from '../../../core/sessions/session-ends.ts';
import { sendPage } from '../../../pages/page-response.ts';
import { t } from '../../../texts/texts.ts';
import { ACCOUNT_PAGES, END_CREDENTIALS, REVOKE_ACCESS } from '../account-pages.ts';
import { endCredentialsQuestion, endOthersQuestion, revokeAccessQuestion } from './access-questions.ts';
import { applicationsPage } from './applications-page.ts';
import type { OwnApplications } from './own-applications.ts';
import { type DeviceView, type SessionView, sessionsPage } from './sessions-page.ts';

const END_OTHERS = '/account/sessions/end-others';

/** The account pages for who has access: authorized applications, sessions, and signing out. */
export function addAccessRoutes(
  { get, post, confirmed }: AccountRouter,
  options: {
    applications: AuthorizedApplications;
    own: OwnApplications;
    accounts: Pick<Accounts, 'find'>;
    sources: readonly AccessSource<Account>[];
    sessions: BrowserSessions;
    sessionEnds: SessionEnds;
    programs: readonly Pick<ProgramSessions, 'list'>[];
  },
): void {
  const { applications, own, sessions, sessionEnds, programs } = options;
  const ended = (ctx: Context) => ({ action: 'session.ended', origin: originOf(ctx) }) as const;

  async function showApplications(ctx: Context, { signedIn: { account }, frame, form }: AccountPage) {
    const html = applicationsPage({
      frame,
      role: account.role,
      applications: (await applications.list(account.id)).map(({ clientId, ...application }) => ({
        ...application,
        revoke: form('/account/applications/revoke', { client_id: clientId }),
      })),
      own: await own.list(account.id, originOf(ctx)),
      endCredentials: END_CREDENTIALS,
    });
    sendPage(ctx, html);
  }
  get(ACCOUNT_PAGES.applications, showApplications, APPLICATION_NOTICES);

  post('/account/applications/revoke', async (ctx, { account }, fields) => {
    await applications.revoke(account.id, fields.get('client_id') ?? '', { origin: originOf(ctx) });
    return `${ACCOUNT_PAGES.applications}?done=revoked`;
  });

  confirmed(
    END_CREDENTIALS,
    ACCOUNT_PAGES.applications,
    async (ctx, { account }) => ({
      ...endCredentialsQuestion(
        account,
        await own.list(account.id, originOf(ctx)),
        ACCOUNT_PAGES.applications,
      ),
      async act() {
        await own.endCredentials(account.id, originOf(ctx));
        return `${ACCOUNT_PAGES.applications}?done=credentials_ended`;
      },
    }),
    { fresh: true },
  );

  /** The names of members and of those who made credentials, by ids. */
  async function namesIn(
    access: Awaited<ReturnType<typeof listAccess>>,
  ): Promise<ReadonlyMap<string, string>> {
    const ids = access.flatMap(({ kind, name, madeBy }) => [kind === 'member' ? name : null, madeBy ?? null]);
    const known = [...new Set(ids)].filter((id) => id !== null);
    const people = await Promise.all(known.map((id) => options.accounts.find(id)));
    return new Map(people.flatMap((it) => (it === undefined ? [] : [[it.id, it.username] as const])));
  }

  confirmed(
    REVOKE_ACCESS,
    ACCOUNT_PAGES.applications,
    async (ctx, { account }, fields) => {
      const access = await listAccess(options.sources, account);
      const unticked = untickedIn((name) => fields?.get(name));
      const kept = access.filter((it) => it.canBeKept && unticked.includes(it.id)).map(({ id }) => id);
      const names = await namesIn(access);
      const lone = findKeptWithoutMember(access, kept);
      return {
        ...revokeAccessQuestion({ account, access, names, kept, back: ACCOUNT_PAGES.applications }),
        problem:
          lone &&
          t(
            'A secret or key that you keep was made by a member. Keep the member as well, or take it over first.',
          ),
        async act() {
          await own.revokeAccess(account, kept, originOf(ctx));
          sessions.forget(ctx);
          return '/account/signed-out?done=access_revoked';
        },
      };
    },
    { fresh: true },
  );

  async function showSessions(ctx: Context, { signedIn: { account, session }, frame, form }: AccountPage) {
    const list = await sessions.list(account.id);
    const views = list.map((it) => ({
      name: describeUserAgent(it.userAgent),
      use: {
        ...it,
        current: it.id === session.uid,
        end: form('/account/sessions/end', { session: it.id }),
      },
    }));
    const uses = (await listPrograms(programs, account)).map((it) => ({
      name: describeProgram(it.userAgent),
      use: { ...it, current: false, end: form('/account/logins/end', { login: it.id }) },
    }));
    const html = sessionsPage({
      frame,
      isComplete: list.length < MAX_LISTED,
      // This device comes first.
      devices: byName(
        views.toSorted((a, b) => Number(b.use.current) - Number(a.use.current)),
        (device) => form('/account/sessions/end-device', { device }),
      ),
      programs: byName(uses, (program) => form('/account/logins/end-program', { program })),
      endOthers: END_OTHERS,
    });
    sendPage(ctx, html);
  }
  get(ACCOUNT_PAGES.sessions, showSessions, SESSION_NOTICES);

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
    const isOn = ({ payload }: OfAccount) =>
      payload.uid !== session.uid &&
      describeUserAgent((payload.device as Device | undefined)?.userAgent) === name;
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

  confirmed(END_OTHERS, ACCOUNT_PAGES.sessions, async (ctx, { account, session }) => {
    const others = (await sessions.list(account.id)).filter(({ id }) => id !== session.uid);
    const logins = await listPrograms(programs, account);
    const uses = [...others, ...logins].map((it) => it.lastUsedAt);
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
    await sessionEnds.signOut(signedIn.session.uid, { origin: originOf(ctx) }, true);
    sessions.forget(ctx);
    return '/account/signed-out';
  });
}

const APPLICATION_NOTICES = {
  revoked: 'The application no longer has access to your account.',
  credentials_ended:
    'The secrets and keys of your applications no longer work. Their members, your registration tokens, the logins of your programs and what you made in applications of others have ended, too. Your webhooks are paused.',
} as const;
const SESSION_NOTICES = {
  ended: 'The session has ended.',
  device_ended: 'The sessions have ended.',
  login_ended: 'The login has ended.',
  program_ended: 'The logins have ended.',
  others_ended: 'All other sessions and logins have ended.',
} as const;

/** Uses of the same name together, in the order of the first of each. */
function byName(
  uses: readonly { name: string; use: SessionView }[],
  endAll: (name: string) => PageForm,
): DeviceView[] {
  return [...Map.groupBy(uses, ({ name }) => name)].map(([name, those]) => {
    return { name, uses: those.map(({ use }) => use), endAll: endAll(name) };
  });
}
