import { form, type PageForm } from '@gatehouse/web/form';
import { named } from '@gatehouse/web/formatting';
import { html } from '@gatehouse/web/html';
import { standalonePage } from '../../../pages/document.ts';

export type EmailVerifyModel = {
  /** With the token of the mailed link in `hidden`. */
  form: PageForm;
  email: string;
  username: string;
};

/** Asks to press a button, as programs that scan mail follow links, but do not submit forms. */
export function emailVerifyPage(model: EmailVerifyModel): string {
  return standalonePage({
    title: 'Confirm your email address',
    body: html`<p>Is ${named(model.email)} your address, and is ${named(model.username)} your account?</p>
${form(model.form, html`<div class="buttons"><button class="primary">Confirm this address</button></div>`)}
<p class="hint">If this is not your account, close this page. Somebody may have mistyped an email address.</p>`,
  });
}

export type EmailOfOtherAccountModel = {
  signOut: PageForm;
  /** Who is signed in. */
  username: string;
};

/** Only whoever is signed in to the account of a link confirms its address: a stranger's account is nobody else's. */
export function emailOfOtherAccountPage(model: EmailOfOtherAccountModel): string {
  return standalonePage({
    title: 'This link is for another account',
    body: html`<p>You are signed in as ${named(model.username)}. The email address was not confirmed. If the other account is yours as well, sign out, open the link in the mail again, and sign in to that account.</p>
<p>If you have no other account, close this page. Somebody may have mistyped an email address.</p>
${form(model.signOut, html`<div class="buttons"><button class="primary">Sign out</button></div>`)}`,
  });
}

export type EmailVerifiedModel = { email: string; links: { account?: string } };

export function emailVerifiedPage(model: EmailVerifiedModel): string {
  const { account } = model.links;
  return standalonePage({
    title: 'Your email address is confirmed',
    body: html`<p>From now on you can also sign in with ${named(model.email)}.</p>
${account !== undefined && html`<p class="buttons"><a class="primary" href="${account}">Go to your account</a></p>`}`,
  });
}

export type UndoEmailChangeModel = {
  /** With the token of the mailed link in `hidden`. */
  form: PageForm;
  email: string;
  username: string;
};

/** Asks to press a button, as emailVerifyPage does. */
export function undoEmailChangePage(model: UndoEmailChangeModel): string {
  return standalonePage({
    title: 'Restore your email address',
    body: html`<p>This restores the email address ${named(model.email)} of the account ${named(model.username)}. All sessions of the account end, its password and its passkeys stop working, and you choose a new password.</p>
${form(model.form, html`<div class="buttons"><button class="primary">Restore this address</button></div>`)}
<p class="hint">If you changed the address yourself, close this page.</p>`,
  });
}

export type LinkInvalidModel = {
  purpose: 'new_password' | 'email' | 'undo';
  /** Where to get another link. */
  links: { retry: string };
};

export function linkInvalidPage(model: LinkInvalidModel): string {
  const retry = {
    new_password: 'Request a new link',
    email: 'Go to your profile and send another link',
    undo: 'Go to your account',
  }[model.purpose];
  return standalonePage({
    title: 'This link no longer works',
    body: html`<p>The link has already been used, was replaced by a newer link, or has expired. If you copied the link, part of it may be missing.</p>
<p class="buttons"><a class="primary" href="${model.links.retry}">${retry}</a></p>`,
  });
}
