import { ServiceError } from '@gatehouse/kit/errors';
import { foldedKey } from '@gatehouse/kit/folded-key';
import Router from '@koa/router';
import type { Context } from 'koa';
import type { Account, AccountChanges, Accounts } from '../accounts/account.ts';
import type { MailedLinks } from '../accounts/mailed-links.ts';
import { type Audit, originOf } from '../audit/audit.ts';
import { ACCOUNT_CLIENT } from '../oidc/client-metadata.ts';
import type { OfAccount, OidcStore } from '../oidc/oidc-adapter.ts';
import type { AccountFrame } from '../pages/account-document.ts';
import { type AuthorizedApplication, applicationsPage } from '../pages/applications-page.ts';
import { passwordPage } from '../pages/password-page.ts';
import { type ProfileNotice, profilePage } from '../pages/profile-page.ts';
import { sessionsPage } from '../pages/sessions-page.ts';
import { signedOutPage } from '../pages/sign-out-pages.ts';
import { stylesheet } from '../pages/stylesheet.ts';
import type { BrowserSessions, SignedIn } from './browser-session.ts';
import type { SignInGuard } from './guard.ts';
import { ForeignForm, setPageHeaders, type Web } from './web.ts';

export type AccountRoutesOptions = {
  issuer: string;
  sessions: BrowserSessions;
  accounts: Accounts;
  store: OidcStore;
  findClient(id: string): Promise<{ name: string; redirectUris: readonly string[] } | undefined>;
  guard: SignInGuard;
  links: MailedLinks;
  audit: Audit;
  web: Web;
  /** In seconds: how long a session lives after its last use. */
  sessionLifetime: number;
};

const PAGES = {
  profile: '/account',
  password: '/account/password',
  applications: '/account/applications',
  sessions: '/account/sessions',
};
const FIELDS = ['username', 'email', 'name', 'first_name', 'last_name', 'phone', 'picture'] as const;
/** Those that a person always has; the others may be emptied. */
const KEPT = new Set<string>(['username', 'email', 'name']);
/** What a person can mend in the form. */
const TO_BE_MENDED = new Set(['invalid', 'conflict', 'forbidden', 'rate_limited']);

/** The account pages: profile, password, authorized applications, sessions. */
export function accountRoutes(options: AccountRoutesOptions): Router {
  const { accounts, audit, sessions, store, web } = options;
  const router = new Router({ sensitive: true });

  router.get(stylesheet.path, (ctx) => {
    ctx.type = 'text/css; charset=utf-8';
    ctx.set({ 'cache-control': 'public, max-age=31536000, immutable', 'x-content-type-options': 'nosniff' });
    ctx.body = stylesheet.text;
  });

  /** Sends a browser through the sign-in, and back to the page. */
  function askToSignIn(ctx: Context, page: string): void {
    setPageHeaders(ctx);
    const query = new URLSearchParams({
      client_id: ACCOUNT_CLIENT,
      response_type: 'none',
      redirect_uri: `${options.issuer}/account/signed-in`,
      scope: 'openid',
      state: page,
    });
    ctx.status = 303;
    ctx.redirect(`/oauth2/authorize?${query}`);
  }

  router.get('/account/signed-in', (ctx) => {
    const page = Object.values(PAGES).find((path) => path === ctx.query.state) ?? PAGES.profile;
    setPageHeaders(ctx);
    ctx.status = 303;
    ctx.redirect(ctx.query.error === undefined ? page : '/account/signed-out');
  });

  router.get('/account/signed-out', (ctx) =>
    web.page(ctx, signedOutPage({ links: { signIn: PAGES.profile } })),
  );

  /** A check of the account's password, which throws `forbidden` for a wrong one, with the brakes on. */
  async function braked<T>(ctx: Context, account: Account, check: () => Promise<T>): Promise<T> {
    const attempt = { login: account.username, address: originOf(ctx).address, knownDevice: true };
    await options.guard.before(attempt);
    const done = await check().catch(async (error: unknown) => {
      const wrong = error instanceof ServiceError && error.kind === 'forbidden';
      await (wrong ? options.guard.failed(attempt) : options.guard.abandoned(attempt));
      throw error;
    });
    await options.guard.succeeded(attempt);
    return done;
  }

  async function confirm({ username }: Account, password: string): Promise<void> {
    if ((await accounts.checkPassword(username, password)) !== undefined) return;
    const problem = { field: 'current_password', message: 'is not right' };
    throw new ServiceError('forbidden', 'The current password is not right.', { details: [problem] });
  }

  /** Counts a mail by who asks, from where, and who gets it; throws `rate_limited`. */
  async function countMail(ctx: Context, account: Account): Promise<void> {
    await options.guard.countMail({ userId: account.id, address: originOf(ctx).address });
    if (account.email !== null) await options.guard.countMail({ userId: foldedKey(account.email) });
  }

  async function mayMail(ctx: Context, account: Account): Promise<boolean> {
    try {
      await countMail(ctx, account);
      return true;
    } catch (error) {
      if (error instanceof ServiceError && error.kind === 'rate_limited') return false;
      throw error;
    }
  }

  type Shown = { signedIn: SignedIn; frame: AccountFrame; csrf: string };
  const contextOf = ({ session }: SignedIn) => `account ${session.uid}`;

  function shown(ctx: Context, signedIn: SignedIn): Shown {
    const csrf = web.csrf(ctx, contextOf(signedIn));
    const signOut = { action: '/account/sign-out', csrf };
    return { signedIn, csrf, frame: { username: signedIn.account.username, signOut, links: PAGES } };
  }

  function get(page: string, show: (ctx: Context, shown: Shown, notice: unknown) => Promise<void> | void) {
    router.get(page, async (ctx) => {
      const signedIn = await sessions.find(ctx);
      if (signedIn === undefined) askToSignIn(ctx, page);
      else await show(ctx, shown(ctx, signedIn), ctx.query.done);
    });
  }

  /** A form of an account page. What it returns names the page to go on with. */
  function post(
    path: string,
    action: (ctx: Context, signedIn: SignedIn, fields: Map<string, string>) => Promise<string | undefined>,
  ) {
    router.post(path, async (ctx) => {
      const signedIn = await sessions.find(ctx);
      if (signedIn === undefined) throw new ForeignForm();
      const next = await action(ctx, signedIn, await web.readForm(ctx, contextOf(signedIn)));
      if (next === undefined) return;
      ctx.status = 303;
      ctx.redirect(next);
    });
  }

  function showProfile(
    ctx: Context,
    { signedIn: { account }, frame, csrf }: Shown,
    more: { notice?: ProfileNotice; values?: Record<string, string>; error?: ServiceError } = {},
  ): void {
    const { error, notice } = more;
    const html = profilePage({
      frame,
      form: { action: PAGES.profile, csrf },
      values: { ...account, ...more.values },
      email: account.email === null ? 'none' : account.email_verified ? 'verified' : 'unverified',
      sendLinkAgain: { action: '/account/verification', csrf },
      ...(error === undefined
        ? {}
        : { problems: error.details ?? [{ field: 'form', message: error.message }] }),
      ...(notice === undefined ? {} : { notice }),
    });
    web.page(ctx, html, { status: error?.status ?? 200 });
  }

  get(PAGES.profile, (ctx, page, done) => {
    const notices: readonly ProfileNotice[] = ['saved', 'saved_and_link_sent', 'link_sent'];
    const notice = notices.find((name) => name === done);
    showProfile(ctx, page, notice === undefined ? {} : { notice });
  });

  post(PAGES.profile, async (ctx, signedIn, fields) => {
    const { account } = signedIn;
    const values: Record<string, string> = {};
    const changes: Record<string, string | null> = {};
    for (const name of FIELDS) {
      const value = fields.get(name)?.trim();
      if (value === undefined) continue;
      values[name] = value;
      const next = value === '' && !KEPT.has(name) ? null : value;
      // A person without an address may stay so.
      if (next === '' && account[name] === null) continue;
      if (next !== account[name]) changes[name] = next;
    }
    if (Object.keys(changes).length === 0) return `${PAGES.profile}?done=saved`;
    try {
      // With the address goes the way to a new password, so that a session alone must not do.
      if (changes.email !== undefined) {
        await braked(ctx, account, () => confirm(account, fields.get('current_password') ?? ''));
      }
      const changed = await accounts.update(account.id, changes as AccountChanges);
      await audit.record({
        action: 'account.changed',
        origin: originOf(ctx),
        subject: account.id,
        details: { fields: Object.keys(changes) },
      });
      if (changes.email === undefined) return `${PAGES.profile}?done=saved`;
      await options.links.tellEmailChanged(account);
      const sent = await mayMail(ctx, changed);
      if (sent) await options.links.sendVerification(changed);
      return `${PAGES.profile}?done=${sent ? 'saved_and_link_sent' : 'saved'}`;
    } catch (error) {
      if (!(error instanceof ServiceError) || !TO_BE_MENDED.has(error.kind)) throw error;
      ctx.set(error.headers);
      showProfile(ctx, shown(ctx, signedIn), { values, error });
      return undefined;
    }
  });

  post('/account/verification', async (ctx, { account }) => {
    await countMail(ctx, account);
    await options.links.sendVerification(account);
    return `${PAGES.profile}?done=link_sent`;
  });

  get(PAGES.password, (ctx, { frame, csrf }, done) => {
    const form = { action: PAGES.password, csrf };
    web.page(ctx, passwordPage({ frame, form, ...(done === 'saved' ? { notice: 'saved' } : {}) }));
  });

  post(PAGES.password, async (ctx, signedIn, fields) => {
    const { account } = signedIn;
    const origin = originOf(ctx);
    const passwords = {
      next: fields.get('new_password') ?? '',
      current: fields.get('current_password') ?? '',
    };
    try {
      const changed = await braked(ctx, account, () => accounts.changePassword(account.id, passwords));
      await sessions.renew(ctx, { ...signedIn, account: changed });
      await audit.record({ action: 'password.changed', origin, subject: account.id });
      await options.links.tellPasswordChanged(changed);
      return `${PAGES.password}?done=saved`;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.kind === 'internal' || error.kind === 'unavailable')
        throw error;
      const { frame, csrf } = shown(ctx, signedIn);
      const html = passwordPage({
        frame,
        form: { action: PAGES.password, csrf },
        ...(error.kind === 'rate_limited'
          ? { retryAfter: Number(error.headers['retry-after']) }
          : { problems: passwordProblems(error) }),
      });
      web.page(ctx, html, { status: error.status });
      return undefined;
    }
  });

  get(PAGES.applications, async (ctx, { signedIn: { account }, frame, csrf }, done) => {
    const grants = await store.grantsOf(account.id);
    const byClient = Map.groupBy(grants, ({ payload }) => String(payload.clientId));
    byClient.delete(ACCOUNT_CLIENT);
    const applications = await Promise.all(
      [...byClient].map(async ([id, ofClient]): Promise<AuthorizedApplication> => {
        const client = await options.findClient(id);
        const host = URL.parse(client?.redirectUris[0] ?? '')?.host;
        const granted = ofClient.flatMap(({ payload }) =>
          String((payload.openid as { scope?: string } | undefined)?.scope ?? '').split(' '),
        );
        return {
          name: client?.name ?? id,
          ...(host ? { host } : {}),
          scopes: [...new Set(granted)].filter((scope) => scope !== ''),
          since: new Date(Math.min(...ofClient.map(({ payload }) => Number(payload.iat) * 1000))),
          revoke: { action: '/account/applications/revoke', csrf, hidden: { client_id: id } },
        };
      }),
    );
    applications.sort((a, b) => a.name.localeCompare(b.name, 'en'));
    const notice = done === 'revoked' ? { notice: 'revoked' as const } : {};
    web.page(ctx, applicationsPage({ frame, role: account.role, applications, ...notice }));
  });

  post('/account/applications/revoke', async (ctx, { account }, fields) => {
    const client = fields.get('client_id');
    const grants = (await store.grantsOf(account.id)).filter(({ payload }) => payload.clientId === client);
    for (const { id } of grants) await store.endGrant(id);
    if (grants.length > 0 && client !== undefined) {
      await audit.record({ action: 'grant.revoked', origin: originOf(ctx), subject: account.id, client });
    }
    return `${PAGES.applications}?done=revoked`;
  });

  get(PAGES.sessions, async (ctx, { signedIn: { account, session }, frame, csrf }, done) => {
    const isHere = ({ payload }: OfAccount) => payload.uid === session.uid;
    // This device stands first.
    const list = (await sessions.list(account.id)).toSorted((a, b) => Number(isHere(b)) - Number(isHere(a)));
    const notice = (['ended', 'others_ended'] as const).find((name) => name === done);
    const html = sessionsPage({
      frame,
      sessions: list.map(({ payload, expiresAt }) => {
        const device = (payload as { device?: { address: string; userAgent: string; signedInAt: string } })
          .device;
        const lastSeen = (expiresAt?.getTime() ?? Date.now()) - options.sessionLifetime * 1000;
        return {
          address: device?.address ?? 'unknown',
          ...(device === undefined ? {} : { userAgent: device.userAgent }),
          signedInAt: new Date(device?.signedInAt ?? Number(payload.loginTs) * 1000),
          lastSeenAt: new Date(lastSeen),
          current: payload.uid === session.uid,
          end: { action: '/account/sessions/end', csrf, hidden: { session: String(payload.uid) } },
        };
      }),
      endOthers: { action: '/account/sessions/end-others', csrf },
      ...(notice === undefined ? {} : { notice }),
    });
    web.page(ctx, html);
  });

  post('/account/sessions/end', async (ctx, signedIn, fields) => {
    const { account, session } = signedIn;
    const uid = fields.get('session') ?? '';
    const own = uid === session.uid;
    await (own ? sessions.leave(ctx, signedIn) : sessions.end(account.id, uid));
    await audit.record({ action: 'session.ended', origin: originOf(ctx), subject: account.id });
    return own ? '/account/signed-out' : `${PAGES.sessions}?done=ended`;
  });

  post('/account/sessions/end-others', async (ctx, { account, session }) => {
    await sessions.endOthers(account.id, session.uid);
    await audit.record({ action: 'session.ended', origin: originOf(ctx), subject: account.id });
    return `${PAGES.sessions}?done=others_ended`;
  });

  post('/account/sign-out', async (ctx, signedIn) => {
    await sessions.leave(ctx, signedIn);
    await audit.record({ action: 'sign_out', origin: originOf(ctx), subject: signedIn.account.id });
    return '/account/signed-out';
  });
  return router;
}

function passwordProblems(error: ServiceError) {
  if (error.kind === 'forbidden') return [{ field: 'current_password', message: 'is not right' }];
  const problems = error.details ?? [{ field: 'form', message: error.message }];
  return problems.map(({ field, message }) => ({
    field: field === 'password' ? 'new_password' : field,
    message,
  }));
}
