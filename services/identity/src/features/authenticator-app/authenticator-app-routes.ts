import { ServiceError } from '@gatehouse/core/errors';
import { translated } from '@gatehouse/web/language';
import type { Context } from 'koa';
import { originOf } from '../../core/audit/audit.ts';
import type { AccountPage, AccountRouter } from '../../core/sessions/account-router.ts';
import type { BrowserSessions } from '../../core/sessions/browser-sessions.ts';
import { afterSetUp } from '../../core/sessions/set-up.ts';
import { SECURITY } from '../../pages/account/security-path.ts';
import { CsrfError } from '../../pages/csrf-forms.ts';
import { sendPage } from '../../pages/page-response.ts';
import { t } from '../../texts/texts.ts';
import {
  DOWNLOAD_CODES,
  REMOVE,
  RENEW_CODES,
  recoveryCodesPage,
  removeAppQuestion,
  renewCodesQuestion,
  SET_UP,
  setUpPage,
} from './authenticator-app-pages.ts';
import type { AuthenticatorApps, SetUp } from './authenticator-apps.ts';
import type { AppChanges } from './changes.ts';
import { qrCode } from './qr-code.ts';
import { WRITTEN_CODE } from './recovery-codes.ts';
import { OTP } from './second-factors.ts';

/** The pages on which people set up and remove their authenticator app. Whoever changes it has just signed in. */
export function addAuthenticatorAppRoutes(
  pages: AccountRouter,
  options: {
    apps: AuthenticatorApps;
    changes: AppChanges;
    sessions: Pick<BrowserSessions, 'find' | 'addFactors'>;
  },
): void {
  const { apps, changes } = options;
  /** A secret is for the session in which it was shown. */
  const contextOf = ({ signedIn: { session } }: Pick<AccountPage, 'signedIn'>) => session.uid;

  function showCodes(ctx: Context, { frame, form }: AccountPage, codes: readonly string[], notice: string) {
    const download = form(DOWNLOAD_CODES, { codes: codes.join(' ') });
    const next = afterSetUp(ctx) ?? SECURITY;
    sendPage(ctx, recoveryCodesPage({ frame: { ...frame, notice }, codes, download, next }));
  }

  pages.get(SET_UP, async (ctx, page) => {
    const { signedIn } = page;
    if (!(await pages.isFresh(ctx, signedIn, SET_UP))) return;
    await showSetUp(ctx, page, await apps.begin(signedIn.account, contextOf(page)));
  });

  pages.post(SET_UP, async (ctx, signedIn, fields) => {
    if (!(await pages.isFresh(ctx, signedIn, SET_UP))) return undefined;
    const { account } = signedIn;
    const page = pages.page(ctx, signedIn);
    const again = async (problem: { message: string; status: number }, setUp?: SetUp) =>
      showSetUp(ctx, page, setUp ?? (await apps.begin(account, contextOf(page))), problem);
    try {
      const setUp = await apps.resume(account, fields.get('set_up') ?? '', contextOf(page));
      const added = await apps.add(account, setUp, (fields.get('code') ?? '').replaceAll(/\s/g, ''));
      if (added === undefined) {
        const message = t('That is not the code of this key. Enter the one that the app shows now.');
        await again({ message, status: 400 }, setUp);
        return undefined;
      }
      // If this session has ended meanwhile, its end may have removed somebody else's app before this one was there.
      if ((await options.sessions.find(ctx))?.account.id !== account.id) {
        await apps.remove(account.id, added.id);
        throw new CsrfError();
      }
      await changes.record('added', account.id, { origin: originOf(ctx) });
      await options.sessions.addFactors(ctx, account.id, OTP);
      showCodes(ctx, page, added.codes, t('The app is set up. Signing in takes a code from now on.'));
    } catch (error) {
      if (!(error instanceof ServiceError) || !['invalid', 'conflict'].includes(error.kind)) throw error;
      await again(error);
    }
    return undefined;
  });

  async function appOf(userId: string) {
    const app = await apps.find(userId);
    if (app === undefined) throw new ServiceError('not_found', 'There is no authenticator app.');
    return app;
  }

  pages.confirmed(
    REMOVE,
    SECURITY,
    async (ctx, { account }) => {
      const app = await appOf(account.id);
      return {
        ...removeAppQuestion(app),
        async act() {
          await changes.remove(account.id, app.id, { origin: originOf(ctx) });
          return `${SECURITY}?done=app_removed`;
        },
      };
    },
    { fresh: true },
  );

  pages.confirmed(
    RENEW_CODES,
    SECURITY,
    async (ctx, signedIn) => {
      const { account } = signedIn;
      return {
        ...renewCodesQuestion(await appOf(account.id)),
        async act() {
          const codes = await apps.renewRecoveryCodes(account.id);
          await changes.record('codes renewed', account.id, { origin: originOf(ctx) });
          showCodes(ctx, pages.page(ctx, signedIn), codes, t('The old codes no longer work.'));
          return undefined;
        },
      };
    },
    { fresh: true },
  );

  // The page sends back what it shows: nothing is stored, and it works without script.
  pages.post(DOWNLOAD_CODES, async (ctx, _signedIn, fields) => {
    const codes = (fields.get('codes') ?? '').split(' ').filter((code) => WRITTEN_CODE.test(code));
    ctx.type = 'text/plain; charset=utf-8';
    ctx.set({
      'cache-control': 'no-store',
      'content-disposition': 'attachment; filename="recovery-codes.txt"',
      'x-content-type-options': 'nosniff',
    });
    ctx.body = `${codes.slice(0, 10).join('\n')}\n`;
    return undefined;
  });
}

async function showSetUp(
  ctx: Context,
  { frame, form }: AccountPage,
  { secret, uri, sealed }: SetUp,
  problem?: { message: string; status: number },
): Promise<void> {
  const html = setUpPage({
    frame,
    form: form(SET_UP, { set_up: sealed }),
    qrCode: await qrCode(uri, t('QR code with the key for your authenticator app')),
    secret,
    problem: problem && translated(problem.message),
  });
  sendPage(ctx, html, { status: problem?.status ?? 200 });
}
