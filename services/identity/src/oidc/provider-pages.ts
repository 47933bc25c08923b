import type { Accounts } from '../accounts/account.ts';
import { signedOutPage, signOutPage, stillSignedInPage } from '../pages/sign-out-pages.ts';
import type { BrowserSessions } from '../sign-in/browser-session.ts';
import { interactionUrl } from '../sign-in/interaction-routes.ts';
import type { PageErrors } from '../sign-in/page-errors.ts';
import { formTarget, type Web } from '../sign-in/web.ts';
import type { ProviderPages } from './provider.ts';

/** The pages of what oidc-provider answers by itself: signing out, and what it refuses. */
export function createProviderPages(options: {
  accounts: Accounts;
  sessions: BrowserSessions;
  web: Web;
  pageErrors: PageErrors;
}): ProviderPages {
  const { accounts, sessions, web, pageErrors } = options;
  return {
    error: pageErrors.refusal,
    async signOut(ctx, { action, xsrf }) {
      const { session, client } = ctx.oidc;
      const account = await accounts.find(session?.accountId ?? '').catch(() => undefined);
      const { postLogoutRedirectUri } = (session?.state ?? {}) as { postLogoutRedirectUri?: string };
      const html = signOutPage({
        form: { action, csrf: web.csrf(ctx, 'sign out'), hidden: { xsrf } },
        ...(account === undefined ? {} : { username: account.username }),
        ...(client?.clientName === undefined ? {} : { application: client.clientName }),
      });
      web.page(ctx, html, { formTargets: formTarget(postLogoutRedirectUri) });
    },
    async signedOut(ctx) {
      const stayed = await sessions.find(ctx);
      const html =
        stayed === undefined
          ? signedOutPage({ links: { signIn: '/account' } })
          : stillSignedInPage({ username: stayed.account.username, links: { account: '/account' } });
      web.page(ctx, html);
    },
    interactionUrl,
  };
}
