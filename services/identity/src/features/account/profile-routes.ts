import { invalidFields } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import type { Content } from '@gatehouse/web/html';
import type { Context } from 'koa';
import type { Account, AccountChanges, Accounts } from '../../core/accounts/account.ts';
import { originOf } from '../../core/audit/audit.ts';
import type { AccountPage, AccountRouter } from '../../core/sessions/account-router.ts';
import type { BrowserSessions } from '../../core/sessions/browser-sessions.ts';
import type { LastWay } from '../../core/sessions/last-way.ts';
import type { SecondFactors } from '../../core/sessions/second-factors.ts';
import type { SessionEnds } from '../../core/sessions/session-ends.ts';
import type { SignInGenerations } from '../../core/sessions/sign-in-generations.ts';
import type { ScriptedPart } from '../../pages/account/account-document.ts';
import { CsrfError } from '../../pages/csrf-forms.ts';
import { formProblems } from '../../pages/page-errors.ts';
import { sendPage } from '../../pages/page-response.ts';
import type { OwnApplications } from './access/own-applications.ts';
import { ACCOUNT_PAGES, END_CREDENTIALS } from './account-pages.ts';
import type { AccountService } from './account-service.ts';
import { passwordPage, passwordProblems, removePasswordQuestion } from './password-page.ts';
import { FIELDS, profilePage } from './profile-page.ts';

/** The fields that cannot be removed, only changed. */
const REQUIRED = new Set<string>(['username', 'email', 'name']);
/** The messages after a change; `saved_and_link_sent` if the email address is a new one. */
const PROFILE_NOTICES = {
  saved: 'Your profile is saved.',
  saved_and_link_sent:
    'Your profile is saved. To confirm your email address, open the link that we have sent to it.',
  picture_saved: 'Your picture is saved.',
  picture_removed: 'Your picture is removed.',
  link_sent: 'We have sent a link to your email address. Open the link to confirm the address.',
} as const;
const PASSWORD_NOTICES = {
  saved: 'Your new password is saved. All other devices and applications are signed out.',
  removed: 'Your password is removed. All other devices and applications are signed out.',
} as const;
/** Errors that are shown in the form, as the person can correct them. */
const CORRECTABLE = new Set(['invalid', 'conflict', 'forbidden', 'rate_limited']);

/** The account pages for the profile and the password. */
export function addProfileRoutes(
  { get, post, page, isFresh, confirmed }: AccountRouter,
  options: {
    account: AccountService;
    accounts: Pick<Accounts, 'hasPassword' | 'removePassword'>;
    lastWay: LastWay;
    sessions: BrowserSessions;
    generations: Pick<SignInGenerations, 'current'>;
    sessionEnds: Pick<SessionEnds, 'isOver'>;
    own: Pick<OwnApplications, 'list'>;
    secondFactors: Pick<SecondFactors, 'of'>;
    /** Parts of the page after a change. */
    savedParts: readonly ((account: Account) => ScriptedPart)[];
    /** The part of the profile with the picture. */
    picture: (page: AccountPage) => Content;
  },
): void {
  const {
    account: service,
    accounts,
    lastWay,
    sessions,
    generations,
    sessionEnds,
    own,
    secondFactors,
  } = options;

  /** Whether the password alone proves who somebody is: they have one, and no second factor. */
  async function isPasswordEnough(id: string): Promise<boolean> {
    return (await accounts.hasPassword(id)) && (await secondFactors.of(id)).length === 0;
  }

  async function showProfile(
    ctx: Context,
    page: AccountPage,
    more: { values?: Record<string, string>; error?: ServiceError } = {},
  ): Promise<void> {
    const { error } = more;
    const { signedIn, frame, form } = page;
    const { account } = signedIn;
    const html = profilePage({
      frame,
      form: form(ACCOUNT_PAGES.profile),
      values: { ...account, ...more.values },
      asksForPassword: await isPasswordEnough(account.id),
      picture: options.picture(page),
      email: account.email === null ? 'none' : account.email_verified ? 'verified' : 'unverified',
      export: ACCOUNT_PAGES.export,
      deletion: ACCOUNT_PAGES.deleteAccount,
      sendLinkAgain: form('/account/verification'),
      parts: frame.notice === undefined ? [] : options.savedParts.map((part) => part(account)),
      problems: error && formProblems(error),
    });
    sendPage(ctx, html, { status: error?.status ?? 200 });
  }

  get(ACCOUNT_PAGES.profile, (ctx, page) => showProfile(ctx, page), PROFILE_NOTICES);

  post(ACCOUNT_PAGES.profile, async (ctx, signedIn, fields) => {
    const { account } = signedIn;
    const values: Record<string, string> = {};
    const changes: Record<string, string | null> = {};
    for (const name of FIELDS) {
      const value = fields.get(name)?.trim();
      if (value === undefined) continue;
      values[name] = value;
      const next = value === '' && !REQUIRED.has(name) ? null : value;
      // An account without an email address may stay without.
      if (next === '' && account[name] === null) continue;
      if (next !== account[name]) changes[name] = next;
    }
    if (Object.keys(changes).length === 0) return `${ACCOUNT_PAGES.profile}?done=saved`;
    try {
      requireCountryCode(changes.phone);
      const isEnough = changes.email === undefined || (await isPasswordEnough(account.id));
      // Others prove by a new sign-in who they are.
      if (!isEnough && !(await isFresh(ctx, signedIn, ACCOUNT_PAGES.profile))) return undefined;
      const { linkSent } = await service.update(account, changes as AccountChanges, {
        currentPassword: isEnough ? (fields.get('current_password') ?? '') : undefined,
        origin: originOf(ctx),
      });
      return `${ACCOUNT_PAGES.profile}?done=${linkSent ? 'saved_and_link_sent' : 'saved'}`;
    } catch (error) {
      if (!(error instanceof ServiceError) || !CORRECTABLE.has(error.kind)) throw error;
      ctx.set(error.headers);
      await showProfile(ctx, page(ctx, signedIn), { values, error });
      return undefined;
    }
  });

  post('/account/verification', async (ctx, { account }) => {
    await service.sendVerification(account, originOf(ctx));
    return `${ACCOUNT_PAGES.profile}?done=link_sent`;
  });

  async function showPassword(ctx: Context, page: AccountPage, error?: ServiceError) {
    const { frame, form, signedIn } = page;
    const { id } = signedIn.account;
    const hasPassword = await accounts.hasPassword(id);
    if (!hasPassword && !(await isFresh(ctx, signedIn, ACCOUNT_PAGES.password))) return;
    const offers =
      frame.notice !== undefined && (await own.list(signedIn.account.id, originOf(ctx))).length > 0;
    const limited = error?.kind === 'rate_limited';
    const html = passwordPage({
      frame,
      form: form(ACCOUNT_PAGES.password),
      hasPassword,
      remove:
        hasPassword && (await lastWay.hasOther(id, 'password')) ? ACCOUNT_PAGES.removePassword : undefined,
      endCredentials: offers ? END_CREDENTIALS : undefined,
      retryAfter: limited ? Number(error.headers['retry-after']) : undefined,
      problems: error === undefined || limited ? undefined : passwordProblems(error),
    });
    sendPage(ctx, html, { status: error?.status ?? 200 });
  }

  get(ACCOUNT_PAGES.password, (ctx, page) => showPassword(ctx, page), PASSWORD_NOTICES);

  post(ACCOUNT_PAGES.password, async (ctx, signedIn, fields) => {
    const { id: accountId } = signedIn.account;
    const generation = await generations.current(accountId);
    // An end of all sessions since the form was read is found here, or after the change.
    if ((await sessions.find(ctx)) === undefined) throw new CsrfError();
    const hasPassword = await accounts.hasPassword(accountId);
    if (!hasPassword && !(await isFresh(ctx, signedIn, ACCOUNT_PAGES.password))) return undefined;
    const passwords = {
      next: fields.get('new_password') ?? '',
      current: hasPassword ? (fields.get('current_password') ?? '') : null,
    };
    try {
      const changed = await service.changePassword(signedIn.account, passwords, originOf(ctx));
      // A person who knows the current password can sign in again.
      if (!hasPassword && (await sessionEnds.isOver({ accountId, generation }))) {
        await accounts.removePassword(accountId);
        throw new CsrfError();
      }
      await sessions.renew(ctx, { ...signedIn, account: changed });
      return `${ACCOUNT_PAGES.password}?done=saved`;
    } catch (error) {
      if (error instanceof CsrfError || !(error instanceof ServiceError) || !CORRECTABLE.has(error.kind))
        throw error;
      await showPassword(ctx, page(ctx, signedIn), error);
      return undefined;
    }
  });

  confirmed(
    ACCOUNT_PAGES.removePassword,
    ACCOUNT_PAGES.password,
    async (ctx, signedIn) => ({
      ...removePasswordQuestion(),
      async act() {
        const changed = await service.removePassword(signedIn.account, originOf(ctx));
        await sessions.renew(ctx, { ...signedIn, account: changed });
        return `${ACCOUNT_PAGES.password}?done=removed`;
      },
    }),
    { fresh: true },
  );
}

/**
 * Only with the code of its country can a number be called from anywhere (E.164), and SMS be sent to it. Numbers from
 * before this was demanded stay until they are changed.
 */
function requireCountryCode(phone: string | null | undefined): void {
  if (typeof phone !== 'string' || (/^\+[1-9]/.test(phone) && !phone.includes('(0)'))) return;
  const message = 'must begin with + and the code of the country, without (0), such as +49 30 1234567';
  throw invalidFields([{ field: 'phone', message }]);
}
