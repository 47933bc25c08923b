import { invalidFields } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import type { Context } from 'koa';
import type { AccountChanges } from '../../core/accounts/account.ts';
import { originOf } from '../../core/audit/audit.ts';
import type { BrowserSessions } from '../../core/sessions/browser-sessions.ts';
import { sendPage } from '../../pages/page-response.ts';
import type { OwnApplications } from './access/own-applications.ts';
import { ACCOUNT_PAGES, type AccountPage, type AccountRouter, END_CREDENTIALS } from './account-router.ts';
import type { AccountService } from './account-service.ts';
import { passwordPage } from './password-page.ts';
import { type ProfileNotice, profilePage } from './profile-page.ts';

const FIELDS = ['username', 'email', 'name', 'first_name', 'last_name', 'phone', 'picture'] as const;
/** Those that cannot be removed, only changed. */
const REQUIRED = new Set<string>(['username', 'email', 'name']);
/** Errors that are shown in the form, as the person can correct them. */
const CORRECTABLE = new Set(['invalid', 'conflict', 'forbidden', 'rate_limited']);

/** The account pages for the profile and the password. */
export function addProfileRoutes(
  { get, post, page }: AccountRouter,
  options: { account: AccountService; sessions: BrowserSessions; own: Pick<OwnApplications, 'list'> },
): void {
  const { account: service, sessions, own } = options;

  function showProfile(
    ctx: Context,
    { signedIn: { account }, frame, csrf }: AccountPage,
    more: { notice?: ProfileNotice | undefined; values?: Record<string, string>; error?: ServiceError } = {},
  ): void {
    const { error, notice } = more;
    const html = profilePage({
      frame,
      form: { action: ACCOUNT_PAGES.profile, csrf },
      values: { ...account, ...more.values },
      email: account.email === null ? 'none' : account.email_verified ? 'verified' : 'unverified',
      sendLinkAgain: { action: '/account/verification', csrf },
      problems: error && (error.details ?? [{ field: 'form', message: error.message }]),
      notice,
    });
    sendPage(ctx, html, { status: error?.status ?? 200 });
  }

  get(ACCOUNT_PAGES.profile, (ctx, page, done) => {
    const notices: readonly ProfileNotice[] = ['saved', 'saved_and_link_sent', 'link_sent'];
    showProfile(ctx, page, { notice: notices.find((name) => name === done) });
  });

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
      const { linkSent } = await service.update(account, changes as AccountChanges, {
        currentPassword: fields.get('current_password') ?? '',
        origin: originOf(ctx),
      });
      return `${ACCOUNT_PAGES.profile}?done=${linkSent ? 'saved_and_link_sent' : 'saved'}`;
    } catch (error) {
      if (!(error instanceof ServiceError) || !CORRECTABLE.has(error.kind)) throw error;
      ctx.set(error.headers);
      showProfile(ctx, page(ctx, signedIn), { values, error });
      return undefined;
    }
  });

  post('/account/verification', async (ctx, { account }) => {
    await service.sendVerification(account, originOf(ctx));
    return `${ACCOUNT_PAGES.profile}?done=link_sent`;
  });

  async function showPassword(ctx: Context, page: AccountPage, done: unknown, error?: ServiceError) {
    const { frame, csrf, signedIn } = page;
    const offers = done === 'saved' && (await own.list(signedIn.account.id, originOf(ctx))).length > 0;
    const limited = error?.kind === 'rate_limited';
    const html = passwordPage({
      frame,
      form: { action: ACCOUNT_PAGES.password, csrf },
      notice: done === 'saved' ? 'saved' : undefined,
      endCredentials: offers ? END_CREDENTIALS : undefined,
      retryAfter: limited ? Number(error.headers['retry-after']) : undefined,
      problems: error === undefined || limited ? undefined : passwordProblems(error),
    });
    sendPage(ctx, html, { status: error?.status ?? 200 });
  }

  get(ACCOUNT_PAGES.password, showPassword);

  post(ACCOUNT_PAGES.password, async (ctx, signedIn, fields) => {
    const passwords = {
      next: fields.get('new_password') ?? '',
      current: fields.get('current_password') ?? '',
    };
    try {
      const changed = await service.changePassword(signedIn.account, passwords, originOf(ctx));
      await sessions.renew(ctx, { ...signedIn, account: changed });
      return `${ACCOUNT_PAGES.password}?done=saved`;
    } catch (error) {
      if (!(error instanceof ServiceError) || !CORRECTABLE.has(error.kind)) throw error;
      await showPassword(ctx, page(ctx, signedIn), undefined, error);
      return undefined;
    }
  });
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

function passwordProblems(error: ServiceError) {
  if (error.kind === 'forbidden') return [{ field: 'current_password', message: 'is not right' }];
  const problems = error.details ?? [{ field: 'form', message: error.message }];
  return problems.map(({ field, message }) => ({
    field: field === 'password' ? 'new_password' : field,
    message,
  }));
}
