import { html } from '@gatehouse/web/html';
import type { Context } from 'koa';
import { t } from '../texts/texts.ts';
import { standalonePage } from './document.ts';
import { sendPage } from './page-response.ts';

/**
 * Sends a browser from a form to another site. Not by a redirect: browsers apply the `form-action` of the page with the form to
 * all redirects that follow, also to those that the other site makes on its way (CSP Level 3 §6.4.1).
 */
export function redirectByPage(ctx: Context, target: { to: string; url: string }): void {
  ctx.set('refresh', `0; url=${target.url}`);
  sendPage(ctx, redirectPage(target));
}

export function redirectPage({ to, url }: { to: string; url: string }): string {
  return standalonePage({
    title: t('Continue to {site}', { site: to }),
    body: html`<p>${t('You sign in at {site}, and then come back.', { site: to })}</p>
<p class="buttons"><a class="primary" href="${url}">${t('Continue to {site}', { site: to })}</a></p>`,
  });
}
