import { ServiceError } from '@gatehouse/core/errors';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import Router from '@koa/router';
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { Interaction } from 'oidc-provider';
import type { Account, Accounts } from '../../core/accounts/account.ts';
import type { AccountMails } from '../../core/accounts/account-mails.ts';
import type { Notices } from '../../core/accounts/notices.ts';
import type { Applications } from '../../core/applications/applications.ts';
import { type Audit, originOf } from '../../core/audit/audit.ts';
import { KnownDevicesOnly } from '../../core/limits/sign-in-throttle.ts';
import { signInOf } from '../../core/oidc/epochs/sign-in-epochs.ts';
import { asksForFreshSignIn, SELECT_ACCOUNT } from '../../core/oidc/prompts.ts';
import { ANOTHER_ACCOUNT, SIGN_UP } from '../../core/oidc/provider-options.ts';
import { isStepUp } from '../../core/oidc/strength.ts';
import type { PageAfterSignIn } from '../../core/sessions/after-sign-in.ts';
import type { BrowserSessions } from '../../core/sessions/browser-sessions.ts';
import { OtherMethodOnly, PASSWORD, type PasswordCheck } from '../../core/sessions/password-check.ts';
import type { RememberedBrowsers } from '../../core/sessions/remembered-browser.ts';
import type { LostFactors } from '../../core/sessions/second-factor.ts';
import type { SecondFactors } from '../../core/sessions/second-factors.ts';
import type { SessionEnds } from '../../core/sessions/session-ends.ts';
import type {
  OtherSite,
  SignInAttempt,
  SignInMessage,
  SignInMethod,
} from '../../core/sessions/sign-in-method.ts';
import type { PreparedAccount, SignUpMethod } from '../../core/sessions/sign-up-method.ts';
import type { Verified, WithFactors } from '../../core/sessions/verified.ts';
import type { BrowserCookie } from '../../pages/browser-cookie.ts';
import { createAccountPage } from '../../pages/create-account-page.ts';
import type { CsrfForms } from '../../pages/csrf-forms.ts';
import { formProblems } from '../../pages/page-errors.ts';
import { seeOther, sendPage } from '../../pages/page-response.ts';
import { redirectByPage } from '../../pages/redirect-page.ts';
import { withLocales } from '../../texts/languages.ts';
import { addAfterSignInRoutes, afterSignInPath } from './after-sign-in-routes.ts';
import { createInteractions } from './interactions.ts';
import { addSecondFactorRoutes, secondFactorPath } from './second-factor-routes.ts';
import { afterSignInPage, chooseAccountPage, type SignInProblem, signInPage } from './sign-in-page.ts';

export type InteractionRoutesOptions = {
  provider(): Provider;
  accounts: Accounts;
  applications: Pick<Applications, 'find'>;
  sessions: Pick<BrowserSessions, 'find' | 'switchAccount'>;
  checkPassword: PasswordCheck;
  /** Beside the password. */
  methods: readonly SignInMethod[];
  pagesAfterSignIn: readonly PageAfterSignIn[];
  secondFactors: SecondFactors;
  lostFactors: readonly LostFactors[];
  remembered: RememberedBrowsers;
  sessionEnds: Pick<SessionEnds, 'isOver'>;
  /** Ways to create an account without a password. */
  signUpMethods: readonly SignUpMethod[];
  mails: AccountMails;
  notices: Pick<Notices, 'signedIn'>;
  audit: Audit;
  browser: BrowserCookie;
  forms: CsrfForms;
  /** Whether people may create accounts for themselves. */
  signUp: boolean;
  /** Whether the users service looks for breached passwords. */
  findsBreached: boolean;
  /** Counts an account created from this address; throws `rate_limited`. */
  countSignUp(address: string): Promise<unknown>;
};

/** Signing in and creating an account. */
export function interactionRoutes(options: InteractionRoutesOptions): Router {
  const { accounts, audit, browser, forms, mails, secondFactors } = options;
  const router = new Router({ sensitive: true });
  const interactions = createInteractions(options, 'login', SELECT_ACCOUNT);
  const { load, readForm, resultUrl, applicationOf, targetsOf } = interactions;
  const pathOf = ({ uid }: Interaction) => `/sign-in/${uid}`;

  /** The forms of these methods, and the scripts for them. */
  const formsOf = (ctx: Context, details: Interaction, methods: readonly SignInMethod[]) => ({
    methods: methods.map(({ name, fields }) => ({
      form: forms.form(ctx, { action: `${pathOf(details)}/methods/${name}`, context: details.uid }),
      fields: fields(ctx, details.uid),
    })),
    scripts: methods.flatMap(({ scripts }) => scripts),
  });

  async function showSignIn(
    ctx: Context,
    details: Interaction,
    shown: { username?: string; problem?: SignInProblem; status?: number } = {},
  ): Promise<void> {
    const application = await applicationOf(ctx, details);
    const isOther = details.prompt.name === SELECT_ACCOUNT || details.params[ANOTHER_ACCOUNT] !== undefined;
    const again = !isOther && asksForFreshSignIn(details);
    const signedIn = again && details.session?.accountId;
    const account = signedIn ? await accounts.find(signedIn).catch(() => undefined) : undefined;
    const hint = details.params.login_hint;
    const username = shown.username ?? (typeof hint === 'string' ? hint.slice(0, 254) : undefined);
    const html = signInPage({
      form: forms.form(ctx, { action: pathOf(details), context: details.uid }),
      application,
      username,
      signedInAs: account?.username,
      problem: shown.problem,
      notice: options.methods.map(({ notice }) => notice?.(ctx, details)).find((it) => it !== undefined),
      links: {
        forgottenPassword: withLocales('/account/forgotten-password', details.params.ui_locales),
        ...(options.signUp ? { createAccount: `${pathOf(details)}/create-account` } : {}),
      },
      ...formsOf(ctx, details, options.methods),
      isPasswordOptional: options.methods.some(({ isFor }) => isFor !== undefined),
      cancel: application.ownPages === undefined,
    });
    const formTargets = targetsOf(details);
    sendPage(ctx, html, { status: shown.status ?? 200, formTargets });
  }

  /** Completes the sign-in of somebody who has proved a first factor, or goes on to the second if one is needed. */
  async function signIn(ctx: Context, details: Interaction, verified: Verified | WithFactors): Promise<void> {
    const { account, amr } = verified;
    const factors = 'factors' in verified ? verified.factors : await secondFactors.of(account.id);
    const isStrong = amr.includes('mfa');
    if (isStrong) for (const lost of options.lostFactors) await lost.stop(account.id, originOf(ctx));
    if (isStrong || factors.length === 0) return complete(ctx, details, verified);
    if (
      asksForFreshSignIn(details) ||
      !(await options.remembered.isRemembered(browser.id(ctx), account, factors))
    ) {
      await secondFactors.hold(ctx, details, verified);
      return seeOther(ctx, secondFactorPath(details.uid));
    }
    await audit.record({
      action: 'sign_in.succeeded',
      origin: originOf(ctx),
      client: String(details.params.client_id),
      subject: account.id,
      details: omitUndefined({ provider: verified.provider, second_factor: 'remembered_browser' }),
    });
    return complete(ctx, details, { ...verified, isUnconfirmed: true, isRemembered: true });
  }

  async function pageBefore(ctx: Context, { uid }: Interaction, verified: Verified) {
    for (const page of options.pagesAfterSignIn) {
      if (await page.isFor(ctx, verified)) return afterSignInPath(uid, page);
    }
    return undefined;
  }

  async function complete(
    ctx: Context,
    details: Interaction,
    verified: Verified,
    { isKnown = browser.isKnownDevice(ctx, verified.account) } = {},
  ): Promise<void> {
    const { account, amr } = verified;
    browser.rememberDevice(ctx, account, amr.includes('mfa') ? 'second factor' : undefined);
    const by = { origin: originOf(ctx), browser: browser.id(ctx), isKnown };
    await options.notices.signedIn(account, by);
    // Otherwise oidc-provider would sign the other account out, with a form that a script submits.
    if ((await options.sessions.switchAccount(ctx, account.id)) && details.session !== undefined) {
      delete details.session;
      await details.save(details.exp - Math.floor(Date.now() / 1000));
    }
    let message: SignInMessage | undefined;
    for (const method of options.methods) message ??= await method.signedIn?.(ctx, details, verified);
    const login = signInOf(ctx, { ...verified, browser: browser.id(ctx) });
    const next = await resultUrl(ctx, { login, [SELECT_ACCOUNT]: {} });
    if (message === undefined) seeOther(ctx, (await pageBefore(ctx, details, verified)) ?? next);
    else sendPage(ctx, afterSignInPage(message, next));
  }

  router.get('/sign-in/:uid', async (ctx) => {
    const details = await load(ctx);
    if (isStepUp(details) && !(ANOTHER_ACCOUNT in ctx.query)) {
      return seeOther(ctx, secondFactorPath(details.uid));
    }
    if (SIGN_UP in ctx.query && options.signUp) return showCreateAccount(ctx, details);
    const isChoice = details.prompt.name === SELECT_ACCOUNT && !(ANOTHER_ACCOUNT in ctx.query);
    const signedIn = isChoice ? await options.sessions.find(ctx) : undefined;
    if (signedIn === undefined) return showSignIn(ctx, details);
    const html = chooseAccountPage({
      form: forms.form(ctx, { action: pathOf(details), context: details.uid }),
      application: await applicationOf(ctx, details),
      username: signedIn.account.username,
      links: { useAnotherAccount: `${pathOf(details)}?${ANOTHER_ACCOUNT}` },
    });
    return sendPage(ctx, html, { formTargets: targetsOf(details) });
  });

  router.post('/sign-in/:uid', async (ctx) => {
    const { fields, details } = await readForm(ctx);
    if (fields.has('cancel')) return interactions.refuse(ctx);
    if (fields.has('continue') && details.prompt.name === SELECT_ACCOUNT)
      return interactions.finish(ctx, { [SELECT_ACCOUNT]: {} });
    const login = (fields.get('username') ?? '').trim();
    const password = fields.get('password') ?? '';
    const connecting = options.methods.flatMap(({ notice }) => notice?.(ctx, details)?.accountId ?? []);
    const redirectToMethod = (method: SignInMethod) =>
      signInBy(ctx, details, async (it) => method.redirect?.(ctx, { ...it, login }), method.problem);
    // By what was entered alone, so that it tells nobody which accounts exist.
    const other = options.methods.find(({ isFor }) => {
      const use = isFor?.(login);
      return use === 'only' || (use === 'beside the password' && password === '');
    });
    if (other !== undefined && connecting.length === 0) return redirectToMethod(other);
    await orShowProblem(ctx, details, login, async () => {
      try {
        const verified = await options.checkPassword(ctx, {
          ...{ login, password },
          client: String(details.params.client_id),
          isConnecting: (userId) => connecting.includes(userId),
          isKnownDevice: (account) => browser.isKnownDevice(ctx, account),
        });
        if (verified !== undefined) {
          const isBreached =
            options.findsBreached &&
            // Once a session.
            details.session?.accountId !== verified.account.id &&
            (await accounts.isBreachedPassword(password).catch(() => false));
          return await signIn(ctx, details, { ...verified, isBreached });
        }
      } catch (error) {
        if (error instanceof OtherMethodOnly) return redirectToMethod(error.method);
        throw error;
      }
      const problem = { kind: 'wrong_password' } as const;
      return showSignIn(ctx, details, { username: login, problem, status: 401 });
    });
  });

  /** Shows on the sign-in page what keeps the person from signing in. */
  async function orShowProblem(
    ctx: Context,
    details: Interaction,
    username: string | undefined,
    attempt: () => Promise<void>,
  ): Promise<void> {
    await attempt().catch((error: unknown) => {
      const problem = signInProblem(error);
      if (problem === undefined) throw error;
      const { status, headers } = error as ServiceError;
      ctx.set(headers);
      return showSignIn(ctx, details, { ...(username === undefined ? {} : { username }), problem, status });
    });
  }

  async function showCreateAccount(
    ctx: Context,
    details: Interaction,
    shown: {
      values?: { username: string; email: string; name: string };
      error?: ServiceError;
      /** A form of which no account was made. */
      refused?: ReadonlyMap<string, string> | undefined;
    } = {},
  ): Promise<void> {
    if (!options.signUp) throw new ServiceError('not_found', 'Accounts cannot be created here.');
    const application = await applicationOf(ctx, details);
    const { values, error, refused: refusedForm } = shown;
    const html = createAccountPage({
      form: forms.form(ctx, { action: `${pathOf(details)}/create-account`, context: details.uid }),
      application,
      values,
      problems: error && formProblems(error),
      links: { signIn: pathOf(details) },
      methods: await Promise.all(
        options.signUpMethods.map(({ content }) => content(ctx, details.uid, refusedForm)),
      ),
      scripts: options.signUpMethods.flatMap(({ scripts }) => scripts),
    });
    const formTargets = targetsOf(details);
    sendPage(ctx, html, { status: error?.status ?? 200, formTargets });
  }

  async function createAccount(
    { name, ...required }: { username: string; email: string; name: string },
    by: PreparedAccount | { password: string },
  ): Promise<Account> {
    const way = 'discard' in by ? { id: by.id } : by;
    try {
      return await accounts.create({ ...required, ...way, ...(name === '' ? {} : { name }) });
    } catch (error) {
      // Whether the account exists is not known when users did not respond.
      const isRefused = error instanceof ServiceError && error.status < 500;
      if (isRefused && 'discard' in by) await by.discard();
      throw error;
    }
  }

  router.get('/sign-in/:uid/create-account', async (ctx) => showCreateAccount(ctx, await load(ctx)));

  router.post('/sign-in/:uid/create-account', async (ctx) => {
    const { fields, details } = await readForm(ctx);
    const value = (name: string) => (fields.get(name) ?? '').trim();
    const values = { username: value('username'), email: value('email'), name: value('name') };
    if (!options.signUp) return showCreateAccount(ctx, details);
    const origin = originOf(ctx);
    try {
      await options.countSignUp(origin.address);
      const method = options.signUpMethods.find(({ field }) => (fields.get(field) ?? '') !== '');
      const prepared = await method?.prepare(ctx, fields, details.uid);
      const account = await createAccount(values, prepared ?? { password: fields.get('password') ?? '' });
      const how = prepared === undefined ? {} : { details: prepared.details };
      await audit.record({ action: 'account.created', origin, subject: account.id, ...how });
      await mails.sendVerification(account);
      const verified = {
        ...{ account, generation: undefined, amr: prepared?.amr ?? PASSWORD },
        ...omitUndefined({ passkey: prepared?.details.passkey }),
      };
      return await complete(ctx, details, verified, { isKnown: true });
    } catch (error) {
      if (!(error instanceof ServiceError) || error.kind === 'internal') throw error;
      return showCreateAccount(ctx, details, {
        values,
        error,
        refused: error.status < 500 ? fields : undefined,
      });
    }
  });

  const methodOf = (ctx: Context) => options.methods.find(({ name }) => name === ctx.params.method);

  async function signInBy(
    ctx: Context,
    details: Interaction,
    act: (attempt: SignInAttempt) => Promise<Verified | OtherSite | SignInMessage | undefined>,
    problem: () => SignInMessage,
  ): Promise<void> {
    const attempt = { interaction: details.uid, client: String(details.params.client_id), details };
    await orShowProblem(ctx, details, undefined, async () => {
      const result = (await act(attempt)) ?? problem();
      if ('account' in result) return signIn(ctx, details, result);
      if ('url' in result) return redirectByPage(ctx, result);
      if (result.isNotice) return showSignIn(ctx, details);
      return showSignIn(ctx, details, { problem: { kind: 'method', ...result }, status: 401 });
    });
  }

  router.post('/sign-in/:uid/methods/:method', async (ctx, next) => {
    const method = methodOf(ctx);
    if (method === undefined) return next();
    const { fields, details } = await readForm(ctx);
    const { redirect, problem } = method;
    const act = (attempt: SignInAttempt) => redirect?.(ctx, attempt) ?? method.verify(ctx, fields, attempt);
    await signInBy(ctx, details, act, problem);
  });

  // Back from another site.
  router.get('/sign-in/:uid/methods/:method', async (ctx, next) => {
    const method = methodOf(ctx);
    if (method?.redirect === undefined) return next();
    const fields = new Map(new URLSearchParams(ctx.querystring));
    const act = (attempt: SignInAttempt) => method.verify(ctx, fields, attempt);
    await signInBy(ctx, await load(ctx), act, method.problem);
  });

  addAfterSignInRoutes(router, { ...options, ...interactions });
  addSecondFactorRoutes(router, {
    ...{ ...options, ...interactions, formsOf, complete },
    restart: (ctx, details) => showSignIn(ctx, details, { problem: { kind: 'too_late' }, status: 400 }),
  });
  return router;
}

function signInProblem(error: unknown): SignInProblem | undefined {
  if (!(error instanceof ServiceError)) return undefined;
  if (error instanceof KnownDevicesOnly) return { kind: 'known_devices_only' };
  const retryAfter = Number(error.headers['retry-after'] ?? 1);
  if (error.kind === 'rate_limited') return { kind: 'too_many_attempts', retryAfter };
  return error.kind === 'unavailable' ? { kind: 'unavailable' } : undefined;
}
