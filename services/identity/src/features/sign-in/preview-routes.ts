import type { Context } from 'koa';
import type { Applications } from '../../core/applications/applications.ts';
import { hostOf } from '../../core/applications/redirect-uris.ts';
import { originOf } from '../../core/audit/audit.ts';
import { ACCOUNT_CLIENT } from '../../core/oidc/clients/client-metadata.ts';
import type { AccountRouter } from '../../core/sessions/account-router.ts';
import type { SignedIn } from '../../core/sessions/browser-sessions.ts';
import { sendPage } from '../../pages/page-response.ts';
import { consentPage } from './consent-page.ts';
import { appearanceOf } from './interactions.ts';
import { signInPage } from './sign-in-page.ts';

/** Leads nowhere: a preview can only be looked at. */
const NOWHERE = '#';
const FORM = { action: NOWHERE, csrf: '' };

/** The pages of a sign-in to an application, for people who may manage it. */
export function addPreviewRoutes(
  { get }: Pick<AccountRouter, 'get'>,
  { applications }: { applications: Pick<Applications, 'read'> },
): void {
  /** Throws `not_found` for the applications of others, too. */
  async function read(ctx: Context, { account: { id, role, epoch } }: SignedIn) {
    const manager = { id, role, epoch, clientId: ACCOUNT_CLIENT, origin: originOf(ctx) };
    const found = await applications.read(manager, String(ctx.params.id));
    const shown = { name: found.name, host: hostOf(found.redirectUris[0]), ...appearanceOf(found) };
    return { scopes: found.scopes, application: shown };
  }

  get('/account/applications/:id/preview/sign-in', async (ctx, { signedIn }) => {
    const { application } = await read(ctx, signedIn);
    const links = { forgottenPassword: NOWHERE };
    const parts = { form: FORM, links, methods: [], scripts: [], cancel: true };
    sendPage(ctx, signInPage({ ...parts, application, isPreview: true }));
  });

  get('/account/applications/:id/preview/consent', async (ctx, { signedIn }) => {
    const { account } = signedIn;
    const model = { ...(await read(ctx, signedIn)), account, form: FORM, links: {} };
    sendPage(ctx, consentPage({ ...model, isPreview: true }));
  });
}
