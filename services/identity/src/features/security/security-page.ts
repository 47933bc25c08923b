import { form, type PageForm } from '@gatehouse/web/form';
import { dateAndTime, deviceName, hostname } from '@gatehouse/web/formatting';
import { type Content, html } from '@gatehouse/web/html';
import { REMEMBERED_DAYS, type RememberedBrowser } from '../../core/sessions/remembered-browser.ts';
import { type AccountFrame, accountDocument } from '../../pages/account/account-document.ts';
import { SECURITY } from '../../pages/account/security-path.ts';
import { t } from '../../texts/texts.ts';

export type SecurityModel = {
  frame: AccountFrame;
  parts: readonly { title: string; content: Content }[];
};

export function securityPage({ frame, parts }: SecurityModel): string {
  return accountDocument({
    title: t('Security'),
    frame,
    current: SECURITY,
    body: parts.map(
      ({ title, content }) => html`<section class="card"><h2>${title}</h2>
${content}</section>`,
    ),
  });
}

/** The browsers in which no code is asked for. */
export function rememberedBrowsersPart(
  browsers: readonly (RememberedBrowser & { forget: PageForm })[],
): Content {
  if (browsers.length === 0) {
    return html`<p>${t('No browser is remembered. When you enter a code to sign in, you can choose not to be asked for one in that browser for {days} days.', { days: REMEMBERED_DAYS })}</p>`;
  }
  return html`<p>${t('You are not asked for a code in these browsers. A new password, and signing out of all sessions, ends that.')}</p>
<ul class="cards">${browsers.map(
    ({
      id,
      name,
      address,
      createdAt,
      lastUsedAt,
      forget,
    }) => html`<li class="card"><h3 id="${id}">${deviceName(name)}</h3>
<dl class="card-facts">
<div><dt>${t('Address')}</dt><dd>${hostname(address)}</dd></div>
<div><dt>${t('Since')}</dt><dd>${dateAndTime(createdAt)}</dd></div>
<div><dt>${t('Last used')}</dt><dd>${dateAndTime(lastUsedAt)}</dd></div>
</dl>
${form(forget, html`<button class="secondary" aria-describedby="${id}">${t('Forget this browser')}</button>`)}</li>`,
  )}</ul>`;
}
