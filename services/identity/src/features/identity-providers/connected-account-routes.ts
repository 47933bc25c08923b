import { ServiceError } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import type { Context } from 'koa';
import { originOf } from '../../core/audit/audit.ts';
import type { AccountPage, AccountRouter } from '../../core/sessions/account-router.ts';
import type { BrowserSessions, SignedIn } from '../../core/sessions/browser-sessions.ts';
import type { LastWay } from '../../core/sessions/last-way.ts';
import type { SignInMessage } from '../../core/sessions/sign-in-method.ts';
import type { BrowserCookie } from '../../pages/browser-cookie.ts';
import { CsrfError } from '../../pages/csrf-forms.ts';
import { seeOther, sendPage } from '../../pages/page-response.ts';
import { redirectByPage } from '../../pages/redirect-page.ts';
import type { ActiveProvider, ActiveProviders } from './active-providers.ts';
import type { AuthorizationStates } from './authorization-state.ts';
import { failureMessage, messagesOf } from './provider-messages.ts';
import { CONNECTED_ACCOUNTS, connectedAccountsPage, disconnectQuestion } from './provider-pages.ts';
import { mayUse } from './upstream-identity.ts';

const NOTICES = {
  connected: 'The account is connected. You can sign in with it from now on.',
  disconnected: 'The account is disconnected.',
} as const;

/** The pages on which people connect and disconnect their accounts at providers. */
export function addConnectedAccountRoutes(
  pages: AccountRouter,
  options: {
    active: Pick<ActiveProviders, 'list' | 'find'>;
    states: AuthorizationStates;
    lastWay: LastWay;
    browser: Pick<BrowserCookie, 'id'>;
    sessions: Pick<BrowserSessions, 'find'>;
    logger: Logger;
  },
): void {
  const { active, states, lastWay, browser, logger } = options;

  async function show(
    ctx: Context,
    { signedIn: { account }, frame, form }: AccountPage,
    problem?: SignInMessage,
  ): Promise<void> {
    if (active.list().length === 0)
      throw new ServiceError('not_found', 'There are no other providers to sign in with.');
    const all = active.list().map(async ({ provider: { id, label, isEnabled }, linked }) => ({
      ...{ id, label, isEnabled, linked: await linked.of(account.id) },
      isOnlyWay: !(await lastWay.hasOther(account.id, id)),
      connect: form(`${CONNECTED_ACCOUNTS}/${id}/connect`),
    }));
    const providers = (await Promise.all(all)).filter(({ isEnabled, linked }) => isEnabled || linked);
    const html = connectedAccountsPage({ frame, problem, providers });
    sendPage(ctx, html, { status: problem === undefined ? 200 : 400 });
  }
  pages.get(CONNECTED_ACCOUNTS, (ctx, page) => show(ctx, page), NOTICES);

  const PATH = `${CONNECTED_ACCOUNTS}/:provider`;
  const pathOf = ({ provider }: ActiveProvider) => `${CONNECTED_ACCOUNTS}/${provider.id}`;
  function providerOf(ctx: Context, isConnecting = false): ActiveProvider {
    const found = active.find(String(ctx.params.provider));
    if (found === undefined || (isConnecting && !found.provider.isEnabled))
      throw new ServiceError('not_found', 'There is no such provider.');
    return found;
  }
  const purposeOf = (ctx: Context, { provider }: ActiveProvider, { session }: SignedIn) => ({
    provider: provider.id,
    context: `connect ${session.uid}`,
    browser: browser.id(ctx),
  });

  // A connected account lets its owner come back at any time: an open session alone must not be enough to connect one.
  pages.post(`${PATH}/connect`, async (ctx, signedIn) => {
    const chosen = providerOf(ctx, true);
    const { provider, client } = chosen;
    if (!(await pages.isFresh(ctx, signedIn, CONNECTED_ACCOUNTS))) return undefined;
    const more = { returnTo: `${pathOf(chosen)}/connect`, isFresh: false };
    const { state, checks } = states.issue(purposeOf(ctx, chosen, signedIn), more);
    try {
      const url = await client.authorizationUrl(state, checks, { isOther: true });
      redirectByPage(ctx, { to: provider.label, url });
    } catch (error) {
      await show(ctx, pages.page(ctx, signedIn), failureMessage(error, { provider, logger }));
    }
    return undefined;
  });

  /** The reason why it was not connected; undefined once it is. */
  async function connect(ctx: Context, signedIn: SignedIn): Promise<SignInMessage | undefined> {
    const chosen = providerOf(ctx, true);
    const { provider, client, linked } = chosen;
    const response = new Map(new URLSearchParams(ctx.querystring));
    const state = response.get('state') ?? '';
    const checks = await states.use(state, purposeOf(ctx, chosen, signedIn));
    if (checks === undefined) return messagesOf(provider.label).tooLate;
    const identity = await client
      .finish(response, { ...checks, state })
      .catch((error: unknown) => failureMessage(error, { provider, logger }));
    if ('title' in identity) return identity;
    if (!mayUse(provider, identity)) return messagesOf(provider.label).wrongDomain;
    const { account } = signedIn;
    const origin = originOf(ctx);
    if (!(await linked.link(account, identity, { origin })))
      return messagesOf(provider.label).linkedElsewhere;
    // If this session has ended meanwhile, its end may have removed the links before this one was there.
    if ((await options.sessions.find(ctx))?.account.id === account.id) return undefined;
    await linked.unlink(account.id, origin);
    throw new CsrfError();
  }

  pages.get(`${PATH}/connect`, async (ctx, page) => {
    const problem = await connect(ctx, page.signedIn);
    if (problem === undefined) seeOther(ctx, `${CONNECTED_ACCOUNTS}?done=connected`);
    else await show(ctx, page, problem);
  });

  const ask = async (ctx: Context, { account, session }: SignedIn) => {
    const { provider, linked } = providerOf(ctx);
    const identity = await linked.of(account.id);
    if (identity === undefined) throw new ServiceError('not_found', 'This account is not connected.');
    return {
      ...disconnectQuestion(provider.label, identity),
      async act() {
        const unlink = () => linked.unlink(account.id, originOf(ctx), session.uid);
        await lastWay.removeUnlessLast(account.id, provider.id, unlink);
        return `${CONNECTED_ACCOUNTS}?done=disconnected`;
      },
    };
  };
  pages.confirmed(`${PATH}/disconnect`, CONNECTED_ACCOUNTS, ask, { fresh: true });
}
