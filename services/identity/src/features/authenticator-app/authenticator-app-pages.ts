import { field, form, type PageForm, problemOf, problemSummary } from '@gatehouse/web/form';
import { ago, dateAndTime, named } from '@gatehouse/web/formatting';
import { type Content, type Html, html } from '@gatehouse/web/html';
import { type AccountFrame, accountDocument } from '../../pages/account/account-document.ts';
import type { Question } from '../../pages/account/confirmation-pages.ts';
import { SECURITY } from '../../pages/account/security-path.ts';
import { t } from '../../texts/texts.ts';
import type { AuthenticatorApp } from './authenticator-app.ts';

export const SET_UP = '/account/authenticator-app/set-up';
export const REMOVE = '/account/authenticator-app/remove';
export const RENEW_CODES = '/account/recovery-codes/renew';
export const DOWNLOAD_CODES = '/account/recovery-codes/download';

/** The app on the page about how an account is signed in to. */
export function authenticatorAppPart(app: AuthenticatorApp | undefined): Content {
  if (app === undefined) {
    return html`<p>${t('An app on your phone shows a code that changes every 30 seconds. When it is set up, signing in takes your password and a code, so that nobody who learns your password can sign in with it.')}</p>
<p class="buttons"><a class="primary" href="${SET_UP}">${t('Set up an authenticator app')}</a></p>`;
  }
  const { createdAt, lastUsedAt } = app;
  return html`<p class="state state-good">${t('Set up')}</p>
<dl class="card-facts">
<div><dt>${t('Added')}</dt><dd>${dateAndTime(createdAt)}</dd></div>
<div><dt>${t('Last used')}</dt><dd>${lastUsedAt === null ? t('Never') : dateAndTime(lastUsedAt)}</dd></div>
</dl>
<p class="buttons"><a class="danger" href="${REMOVE}">${t('Remove the app')}</a></p>`;
}

/** The recovery codes there. */
export function recoveryCodesPart(app: AuthenticatorApp | undefined): Content {
  if (app === undefined) {
    return html`<p>${t('You get ten recovery codes when you set up an authenticator app. Each signs you in once, if you have lost the app.')}</p>`;
  }
  const left = app.recoveryCodes.length;
  return html`<p>${left === 0 ? t('You have no recovery codes left.') : t('You have {count} recovery codes left.', { count: left })} ${t('Each signs you in once, if you have lost your authenticator app.')}</p>
<p class="buttons"><a class="secondary" href="${RENEW_CODES}">${t('Get new codes')}</a></p>`;
}

export type SetUpModel = {
  frame: AccountFrame;
  form: PageForm;
  qrCode: Html;
  /** In base32. */
  secret: string;
  /** The problem of the code that was entered. */
  problem?: string | undefined;
};

export function setUpPage({ frame, form: target, qrCode, secret, problem }: SetUpModel): string {
  const problems = problem === undefined ? [] : [{ field: 'code', message: problem }];
  return accountDocument({
    title: t('Set up an authenticator app'),
    failed: problem !== undefined,
    frame,
    current: SECURITY,
    body: html`${problemSummary(problems, ['code'])}
<h2>${t('1. Scan the QR code')}</h2>
<p>${t('Scan it with any authenticator app, such as the one in your password manager. Whoever sees this QR code can make your codes. It is shown only now.')}</p>
${qrCode}
<details><summary>${t('Enter a key instead')}</summary>
<p>${t('Choose a time-based key in the app, and enter this as the key. The account is {username}.', { username: named(frame.username) })}</p>
<p><code class="secret-key">${secret.replaceAll(/.{4}(?=.)/g, '$& ')}</code></p></details>
<h2>${t('2. Enter the code')}</h2>
${form(
  target,
  html`${field({ name: 'code', label: t('Code'), hint: t('The six digits that the app shows now.'), inputmode: 'numeric', autocomplete: 'one-time-code', required: true, problem: problemOf(problems, 'code') })}
<div class="buttons"><button class="primary">${t('Set up the app')}</button><a class="secondary" href="${SECURITY}">${t('Cancel')}</a></div>`,
)}`,
  });
}

export type RecoveryCodesModel = {
  frame: AccountFrame;
  codes: readonly string[];
  download: PageForm;
  /** The page to go on with. */
  next: string;
};

/** The only page that shows the codes. */
export function recoveryCodesPage({ frame, codes, download, next }: RecoveryCodesModel): string {
  return accountDocument({
    title: t('Your recovery codes'),
    frame,
    current: SECURITY,
    body: html`<p><strong>${t('Keep these codes now: they are not shown again.')}</strong> ${t('If you lose your authenticator app, each of them signs you in once. Print them, or save them in a password manager, but not only on the device with the app.')}</p>
<ol class="recovery-codes">${codes.map((code) => html`<li><code>${code}</code></li>`)}</ol>
${form(
  download,
  html`<div class="buttons"><button class="secondary">${t('Download the codes')}</button><a class="primary" href="${next}">${t('I have kept the codes')}</a></div>`,
)}`,
  });
}

/** Before the app is removed. */
export function removeAppQuestion({ createdAt, lastUsedAt }: AuthenticatorApp): Question {
  return {
    title: t('Remove the authenticator app?'),
    lost: html`<p>${lastUsedAt === null ? t('The app that was added {added} and never used is no longer asked for: your password alone signs you in. Its recovery codes stop working, and no browser is remembered any longer.', { added: ago(createdAt) }) : t('The app that was added {added} and last used {used} is no longer asked for: your password alone signs you in. Its recovery codes stop working, and no browser is remembered any longer.', { added: ago(createdAt), used: ago(lastUsedAt) })}</p>
<p>${t('Your sessions stay. You can delete the account from the app as well.')}</p>`,
    submit: t('Remove the app'),
    back: SECURITY,
  };
}

/** Before the recovery codes are replaced. */
export function renewCodesQuestion({ recoveryCodes: { length: left } }: AuthenticatorApp): Question {
  return {
    title: t('Get new recovery codes?'),
    lost: html`<p>${t('You get ten new codes.')} ${left === 0 ? t('You have none left.') : t('The {count} codes that you have left no longer work.', { count: left })}</p>`,
    submit: t('Get new codes'),
    back: SECURITY,
  };
}
