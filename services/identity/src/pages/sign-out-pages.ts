import { brand } from '@gatehouse/web/brand';
import { form, type PageForm } from '@gatehouse/web/form';
import { named } from '@gatehouse/web/formatting';
import { html } from '@gatehouse/web/html';
import { t } from '../texts/texts.ts';
import { standalonePage } from './document.ts';

export type SignOutModel = {
  /** The first button sends `logout=yes`; the second does not. */
  form: PageForm;
  username?: string | undefined;
  /** The name of the application that requests it. */
  application?: string | undefined;
};

export function signOutPage(model: SignOutModel): string {
  const { username, application } = model;
  return standalonePage({
    title: t('Sign out?'),
    body: html`${username !== undefined && html`<p>${t('You are signed in to {product} as {username}.', { product: brand().name, username: named(username) })}</p>`}
${application !== undefined && html`<p>${t('{application} asks to sign you out.', { application: named(application) })}</p>`}
<p>${t('Signing out ends your session in this browser. Other applications that you opened in this browser will ask you to sign in again.')}</p>
<p class="hint">${t('Applications that you allowed to stay signed in on this device keep their access. You can end it under Applications in your account.')}</p>
${form(
  model.form,
  html`<div class="buttons"><button class="primary" name="logout" value="yes">${t('Sign out')}</button>
<button class="secondary">${t('Stay signed in')}</button></div>`,
)}`,
  });
}

/** `isRevoked`: the person has just revoked all access to the account. */
export function signedOutPage(model: { links: { signIn: string }; isRevoked?: boolean }): string {
  return standalonePage({
    title: t('You are signed out'),
    body: html`${model.isRevoked && html`<p>${t('All access to your account has been revoked. Sign in again, choose a new password, and check your passkeys, your connected accounts and your paused webhooks.')}</p>`}<p>${t('If this is not your own computer, close all browser windows now.')}</p>
<ul class="ways">
<li><a href="${model.links.signIn}">${t('Sign in again')}</a></li>
</ul>`,
  });
}

/** Follows "Stay signed in" when there is no application to go back to. */
export function stillSignedInPage(model: { username: string; links: { account: string } }): string {
  return standalonePage({
    title: t('You are still signed in'),
    body: html`<p>${t('You are still signed in to {product} as {username} in this browser.', { product: brand().name, username: named(model.username) })}</p>
<p class="buttons"><a class="primary" href="${model.links.account}">${t('Go to your account')}</a></p>`,
  });
}
