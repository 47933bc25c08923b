import { isConfirmed } from '@gatehouse/web/confirmation';
import Router from '@koa/router';
import type { Context } from 'koa';
import type { Account, Accounts } from '../../core/accounts/account.ts';
import { isCurrentLink, type OneTimeLinks } from '../../core/accounts/one-time-link.ts';
import { originOf } from '../../core/audit/audit.ts';
import { standaloneQuestionPage } from '../../pages/account/confirmation-pages.ts';
import type { CsrfForms } from '../../pages/csrf-forms.ts';
import { sendPage } from '../../pages/page-response.ts';
import { type FactorRecoveries, isReady } from './factor-recoveries.ts';
import { recoveryOutcomePage, removeFactorsQuestion, stopRecoveryPage } from './factor-recovery-pages.ts';

const STOP = '/account/factor-recovery/stop';
const REMOVE = '/account/factor-recovery/remove';

/** The pages that the links in mails about a recovery lead to, without a sign-in. */
export function factorRecoveryRoutes(options: {
  accounts: Pick<Accounts, 'find'>;
  links: OneTimeLinks;
  forms: CsrfForms;
  recoveries: FactorRecoveries;
}): Router {
  const { links, forms, recoveries } = options;
  const router = new Router({ sensitive: true });
  const refuse = (ctx: Context) => sendPage(ctx, recoveryOutcomePage('invalid'), { status: 400 });

  /** The account that a link is about, if its recovery is under way, and not one of another address. */
  async function accountOf(purpose: 'stop_recovery' | 'remove_factors', token: string) {
    const link = await links.peek(purpose, token);
    const account = link === undefined ? undefined : await options.accounts.find(link.userId);
    if (account === undefined || !isCurrentLink(link, account)) return undefined;
    const recovery = await recoveries.find(account);
    if (recovery === undefined || (purpose === 'remove_factors' && !isReady(recovery))) return undefined;
    return account;
  }

  const targetOf = (ctx: Context, action: string, token: string) =>
    forms.form(ctx, { action, hidden: { token } });

  router.get(STOP, async (ctx) => {
    const token = String(ctx.query.token ?? '');
    const account = await accountOf('stop_recovery', token);
    if (account === undefined) return refuse(ctx);
    const html = stopRecoveryPage({ form: targetOf(ctx, STOP, token), username: account.username });
    sendPage(ctx, html);
  });

  router.post(STOP, async (ctx) => {
    const token = (await forms.read(ctx, STOP)).get('token') ?? '';
    const account = await accountOf('stop_recovery', token);
    if (account === undefined) return refuse(ctx);
    await links.use('stop_recovery', token, () => recoveries.stop(account.id, originOf(ctx)));
    sendPage(ctx, recoveryOutcomePage('stopped'));
  });

  function askToRemove(ctx: Context, { username }: Account, token: string, refused = false): void {
    const form = targetOf(ctx, REMOVE, token);
    const html = standaloneQuestionPage({ question: removeFactorsQuestion(username), form, refused });
    sendPage(ctx, html, { status: refused ? 400 : 200 });
  }

  router.get(REMOVE, async (ctx) => {
    const token = String(ctx.query.token ?? '');
    const account = await accountOf('remove_factors', token);
    if (account === undefined) return refuse(ctx);
    askToRemove(ctx, account, token);
  });

  router.post(REMOVE, async (ctx) => {
    const fields = await forms.read(ctx, REMOVE);
    const token = fields.get('token') ?? '';
    const account = await accountOf('remove_factors', token);
    if (account === undefined) return refuse(ctx);
    if (!isConfirmed(fields.get('confirmation'), {})) return askToRemove(ctx, account, token, true);
    const origin = originOf(ctx);
    let isFinished = false;
    await links.use('remove_factors', token, async () => {
      isFinished = await recoveries.finish(account, origin);
    });
    if (!isFinished) return refuse(ctx);
    sendPage(ctx, recoveryOutcomePage('removed'));
  });
  return router;
}
