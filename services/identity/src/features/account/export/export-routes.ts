import { Readable } from 'node:stream';
import { ServiceError } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { alertBox, form, type PageForm } from '@gatehouse/web/form';
import { html } from '@gatehouse/web/html';
import { type Audit, originOf } from '../../../core/audit/audit.ts';
import type { PersonalDataSection } from '../../../core/extensions.ts';
import { ACCOUNT_CLIENT } from '../../../core/oidc/clients/client-metadata.ts';
import type { AccountRouter } from '../../../core/sessions/account-router.ts';
import { type AccountFrame, accountDocument } from '../../../pages/account/account-document.ts';
import { sendPage } from '../../../pages/page-response.ts';
import { t } from '../../../texts/texts.ts';
import { ACCOUNT_PAGES } from '../account-pages.ts';
import { personalDataOf } from './personal-data.ts';

/** Adds the page on which people download everything that the services hold about them (GDPR, Articles 15 and 20). */
export function addExportRoutes(
  { get, post, page, isFresh }: AccountRouter,
  options: { sections: readonly PersonalDataSection[]; audit: Pick<Audit, 'record'>; logger: Logger },
): void {
  /** The accounts whose data this process is sending: each export reads as fast as it is received. */
  const running = new Set<string>();

  get(ACCOUNT_PAGES.export, async (ctx, shown) => {
    if (!(await isFresh(ctx, shown.signedIn, ACCOUNT_PAGES.export))) return;
    sendPage(ctx, exportPage({ frame: shown.frame, form: shown.form(ACCOUNT_PAGES.export) }));
  });

  post(ACCOUNT_PAGES.export, async (ctx, signedIn) => {
    if (!(await isFresh(ctx, signedIn, ACCOUNT_PAGES.export))) return undefined;
    const { account } = signedIn;
    const again = (problem: 'running' | 'away', status: number) => {
      const { frame, form } = page(ctx, signedIn);
      sendPage(ctx, exportPage({ frame, form: form(ACCOUNT_PAGES.export), problem }), { status });
      return undefined;
    };
    if (running.has(account.id)) return again('running', 409);
    running.add(account.id);
    try {
      const content = Readable.from(await personalDataOf(account, options.sections));
      const by = { origin: originOf(ctx), client: ACCOUNT_CLIENT };
      await options.audit.record({ action: 'account.exported', ...by, subject: account.id });
      content.once('close', () => running.delete(account.id));
      ctx.set({
        'cache-control': 'no-store',
        'content-disposition': `attachment; filename="gatehouse-data-${account.id}.json"`,
      });
      ctx.type = 'application/json; charset=utf-8';
      ctx.body = content;
      return undefined;
    } catch (error) {
      running.delete(account.id);
      if (!(error instanceof ServiceError) || error.kind !== 'unavailable') throw error;
      options.logger.warn({ err: error }, 'personal data could not be read');
      return again('away', 503);
    }
  });
}

/** The contents of the file, and the button that downloads it. */
export function exportPage(model: {
  frame: AccountFrame;
  form: PageForm;
  problem?: 'running' | 'away';
}): string {
  const { frame, form: target, problem } = model;
  const problems = {
    running: t('A download of your data is running already. Wait until it has finished.'),
    away: t('Some of your data cannot be read at the moment. Try again in a few minutes.'),
  };
  return accountDocument({
    title: t('Download your data'),
    failed: problem !== undefined,
    frame,
    current: ACCOUNT_PAGES.export,
    body: html`${problem && alertBox(problems[problem])}
<p>${t('You get one file in the JSON format, with everything that is stored about you: your profile, your sign-in methods and sessions, the applications that you have allowed or created, your activity, items, orders, messages and webhooks.')}</p>
<p>${t('Passwords, keys and other secrets are not in the file. Keep it in a safe place: whoever has it can read all of this.')}</p>
${form(target, html`<div class="buttons"><button class="primary">${t('Download')}</button><a class="secondary" href="${ACCOUNT_PAGES.profile}">${t('Cancel')}</a></div>`)}`,
  });
}
