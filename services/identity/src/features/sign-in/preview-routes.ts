import { ServiceError } from '@gatehouse/core/errors';
import type { Context } from 'koa';
import { passwordChanged } from '../../core/accounts/account-notices.ts';
import type { Mail } from '../../core/accounts/mail-document.ts';
import { invitationMail, newPasswordMail, verifyEmailMail } from '../../core/accounts/mails.ts';
import { writeNotice } from '../../core/accounts/notice.ts';
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

/** Mails to look at, with values like those of real ones, by the last part of their path. */
const MAILS: Readonly<Record<string, (sample: { link: string; username: string }) => Mail>> = {
  'verify-email': verifyEmailMail,
  'new-password': (sample) => newPasswordMail({ ...sample, minutes: 30 }),
  invitation: (sample) => invitationMail({ ...sample, days: 7, inviter: 'Ada', role: 'user' }),
  'password-changed': ({ link, username }) =>
    writeNotice(passwordChanged({ at: new Date(), address: '192.0.2.7' }), { undo: link, username }),
};
/** A mail has its styles in itself, and its links lead nowhere. */
const MAIL_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'";

/** Leads nowhere: a preview can only be looked at. */
const NOWHERE = '#';
const FORM = { action: NOWHERE, csrf: '' };

/** The pages of a sign-in to an application, for people who may manage it, and mails for admins. */
export function addPreviewRoutes(
  { get }: Pick<AccountRouter, 'get'>,
  { applications, issuer }: { applications: Pick<Applications, 'read'>; issuer: string },
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

  get('/account/mails/:kind/preview', (ctx, { signedIn: { account } }) => {
    const { kind = '' } = ctx.params;
    const write = account.role === 'admin' && Object.hasOwn(MAILS, kind) ? MAILS[kind] : undefined;
    if (write === undefined) throw new ServiceError('not_found', 'There is no such mail.');
    const link = `${issuer}/account/new-password?token=an-example`;
    sendPage(ctx, write({ link, username: account.username }).html);
    ctx.set('content-security-policy', MAIL_POLICY);
  });
}
