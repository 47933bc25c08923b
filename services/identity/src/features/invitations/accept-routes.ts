import { ServiceError } from '@gatehouse/core/errors';
import Router from '@koa/router';
import type { Context } from 'koa';
import type { Accounts } from '../../core/accounts/account.ts';
import { type Audit, originOf } from '../../core/audit/audit.ts';
import type { Authority } from '../../core/authority/authority.ts';
import type { SignUpMethod } from '../../core/sessions/sign-up-method.ts';
import { createAccountPage } from '../../pages/create-account-page.ts';
import type { CsrfForms } from '../../pages/csrf-forms.ts';
import { formProblems } from '../../pages/page-errors.ts';
import { sendPage } from '../../pages/page-response.ts';
import type { Invitation, InvitationStore } from './invitation.ts';
import { invitationAcceptedPage, invitationInvalidPage } from './invitation-pages.ts';
import { hashOfToken, INVITATION_PAGE, isGiven } from './invitation-routes.ts';
import type { MembershipOffers } from './membership-offers.ts';

const CORRECTABLE = new Set(['invalid', 'conflict']);

/** The page that the mailed link of an invitation leads to, on which somebody creates their account. */
export function acceptRoutes(options: {
  store: InvitationStore;
  offers: MembershipOffers;
  accounts: Pick<Accounts, 'create' | 'verifyEmail'>;
  signUpMethods: readonly SignUpMethod[];
  audit: Audit;
  authority: Authority;
  forms: CsrfForms;
}): Router {
  const { store, offers, accounts, signUpMethods, audit, authority, forms } = options;
  const router = new Router({ sensitive: true });
  const contextOf = ({ id }: Invitation) => `invitation ${id}`;
  const refuse = (ctx: Context) => sendPage(ctx, invitationInvalidPage(), { status: 400 });

  async function show(
    ctx: Context,
    invitation: Invitation,
    token: string,
    shown: {
      values?: { username: string; name: string };
      error?: ServiceError;
      refused?: ReadonlyMap<string, string>;
    } = {},
  ): Promise<void> {
    const { values, error, refused } = shown;
    const { email, role, membership } = invitation;
    const html = createAccountPage({
      form: forms.form(ctx, { action: INVITATION_PAGE, context: INVITATION_PAGE, hidden: { token } }),
      values,
      invited: { email, role, membership, application: await offers.applicationOf(membership) },
      problems: error && formProblems(error),
      links: { signIn: '/account' },
      methods: await Promise.all(
        signUpMethods.map(({ content }) => content(ctx, contextOf(invitation), refused)),
      ),
      scripts: signUpMethods.flatMap(({ scripts }) => scripts),
    });
    sendPage(ctx, html, { status: error?.status ?? 200 });
  }

  router.get(INVITATION_PAGE, async (ctx) => {
    const token = String(ctx.query.token ?? '');
    const invitation = await store.find(hashOfToken(token));
    return invitation === undefined || !(await isGiven(invitation, authority))
      ? refuse(ctx)
      : show(ctx, invitation, token);
  });

  router.post(INVITATION_PAGE, async (ctx) => {
    const fields = await forms.read(ctx, INVITATION_PAGE);
    const token = fields.get('token') ?? '';
    const invitation = await store.take(hashOfToken(token));
    if (invitation === undefined || !(await isGiven(invitation, authority))) return refuse(ctx);
    const value = (name: string) => (fields.get(name) ?? '').trim();
    const values = { username: value('username'), name: value('name') };
    const { id, email, invitedBy, role } = invitation;
    let discard: (() => Promise<unknown>) | undefined;
    let isCreated = false;
    try {
      const method = signUpMethods.find(({ field }) => (fields.get(field) ?? '') !== '');
      const prepared = await method?.prepare(ctx, fields, contextOf(invitation));
      discard = prepared?.discard;
      const account = await accounts.create({
        ...{ username: values.username, email },
        ...(values.name === '' ? {} : { name: values.name }),
        ...(role === 'user' ? {} : { role }),
        ...(prepared === undefined ? { password: fields.get('password') ?? '' } : { id: prepared.id }),
      });
      isCreated = true;
      const details = { ...prepared?.details, invitation: id, invited_by: invitedBy, role };
      await audit.record({ action: 'account.created', origin: originOf(ctx), subject: account.id, details });
      await offers.begin(invitation, account, originOf(ctx));
      // The holder of the link reads the mail. If users does not respond, the address is confirmed later, as usual.
      const verified = await accounts.verifyEmail(account.id, email).catch((error: unknown) => {
        // Somebody else has confirmed it since: the account is there all the same, and the invitation must not make another.
        if (!(error instanceof ServiceError) || error.kind !== 'conflict') throw error;
        return undefined;
      });
      return sendPage(
        ctx,
        invitationAcceptedPage({ username: account.username, isConfirmed: verified !== undefined }),
      );
    } catch (error) {
      // An invitation makes one account.
      if (isCreated || !(error instanceof ServiceError)) throw error;
      // Whether the account exists is not known when users did not respond: the address tells, when they try again.
      if (error.status < 500) await discard?.();
      await store.restore(invitation);
      if (!CORRECTABLE.has(error.kind)) throw error;
      return show(ctx, invitation, token, { values, error, refused: fields });
    }
  });
  return router;
}
