import type { Accounts } from '../../core/accounts/account.ts';
import type { ProviderPages } from '../../core/oidc/provider-options.ts';
import type { BrowserSessions } from '../../core/sessions/browser-sessions.ts';
import type { CsrfForms } from '../../pages/csrf-forms.ts';
import type { PageErrors } from '../../pages/page-errors.ts';
import { formTarget, sendPage } from '../../pages/page-response.ts';
import { signedOutPage, signOutPage, stillSignedInPage } from '../../pages/sign-out-pages.ts';
import { interactionUrl } from './interactions.ts';

/** The pages for requests that oidc-provider answers itself: signing out, and what it refuses. */
export function createProviderPages(options: {
  accounts: Pick<Accounts, 'find'>;
  sessions: BrowserSessions;
  forms: CsrfForms;
  pageErrors: PageErrors;
}): ProviderPages {
  const { accounts, sessions, forms, pageErrors } = options;
  return {
    error: pageErrors.providerError,
    async signOut(ctx, { action, xsrf }) {
      const { session, client } = ctx.oidc;
      const account = await accounts.find(session?.accountId ?? '').catch(() => undefined);
      const { postLogoutRedirectUri } = (session?.state ?? {}) as { postLogoutRedirectUri?: string };
      const html = signOutPage({
        form: forms.form(ctx, { action, context: 'sign out', hidden: { xsrf } }),
        username: account?.username,
        application: client?.clientName,
      });
      sendPage(ctx, html, { formTargets: formTarget(postLogoutRedirectUri) });
    },
    async signedOut(ctx) {
      const signedIn = await sessions.find(ctx);
      const html =
        signedIn === undefined
          ? signedOutPage({ links: { signIn: '/account' } })
          : stillSignedInPage({ username: signedIn.account.username, links: { account: '/account' } });
      sendPage(ctx, html);
    },
    interactionUrl,
  };
}
