import { translated } from '@gatehouse/web/language';
import type { AccountRouter } from '../../core/sessions/account-router.ts';
import type { SecurityPart } from '../../core/sessions/listed-factors.ts';
import type { RememberedBrowsers } from '../../core/sessions/remembered-browser.ts';
import { SECURITY } from '../../pages/account/security-path.ts';
import { sendPage } from '../../pages/page-response.ts';
import { rememberedBrowsersPart, securityPage } from './security-page.ts';

const FORGET = `${SECURITY}/browsers`;
const NOTICES = {
  app_removed: 'The authenticator app is removed. Your password alone signs you in.',
  forgotten: 'The browser is no longer remembered. It is asked for a code at the next sign-in.',
} as const;

/** The browsers that take no code, as a part of the page. */
export function rememberedBrowsers(remembered: RememberedBrowsers): SecurityPart {
  return {
    title: 'Remembered browsers',
    async content({ signedIn: { account }, form }) {
      const browsers = await remembered.list(account);
      return rememberedBrowsersPart(
        browsers.map((it) => ({ ...it, forget: form(`${FORGET}/${it.id}/forget`) })),
      );
    },
  };
}

/** The page on how an account is signed in to. */
export function addSecurityRoutes(
  pages: AccountRouter,
  options: { parts: SecurityPart[]; remembered: RememberedBrowsers },
): void {
  const { parts, remembered } = options;
  pages.get(
    SECURITY,
    async (ctx, page) => {
      const shown = parts.map(async (part) => ({
        title: translated(part.title),
        content: await part.content(page),
      }));
      sendPage(ctx, securityPage({ frame: page.frame, parts: await Promise.all(shown) }));
    },
    NOTICES,
  );

  pages.post(`${FORGET}/:id/forget`, async (ctx, { account }) => {
    await remembered.forget(account.id, String(ctx.params.id));
    return `${SECURITY}?done=forgotten`;
  });
}
