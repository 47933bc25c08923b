import { form, type PageForm } from '@gatehouse/ui/form';
import { named } from '@gatehouse/ui/formatting';
import { html } from '@gatehouse/ui/html';
import { standalonePage } from './document.ts';

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
    body: html`<h1>Confirm your email address</h1>
<p>Is ${named(model.email)} your address, and is ${named(model.username)} your account?</p>
${form(model.form, html`<div class="buttons"><button class="primary">Confirm this address</button></div>`)}
<p class="hint">If you have no such account, close this page: somebody may have mistyped an address.</p>`,
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
    body: html`<h1>This link is for another account</h1>
<p>You are signed in as ${named(model.username)}, and the address has not been confirmed. If the other account is yours as well, sign out, open the link in the mail again, and sign in to that account.</p>
<p>If you have no other account, close this page: somebody may have mistyped an address.</p>
${form(model.signOut, html`<div class="buttons"><button class="primary">Sign out</button></div>`)}`,
  });
}

export type EmailVerifiedModel = { email: string; links: { account?: string } };

export function emailVerifiedPage(model: EmailVerifiedModel): string {
  const { account } = model.links;
  return standalonePage({
    title: 'Your email address is confirmed',
    body: html`<h1>Your email address is confirmed</h1>
<p>From now on you can also sign in with ${named(model.email)}.</p>
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
    title: 'Put your email address back',
    body: html`<h1>Put your email address back</h1>
<p>The account ${named(model.username)} gets the address ${named(model.email)} back. Everybody who is signed in to it is signed out, its password no longer works, and you choose a new one.</p>
${form(model.form, html`<div class="buttons"><button class="primary">Put this address back</button></div>`)}
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
    new_password: 'Ask for another link',
    email: 'Go to your profile and send another link',
    undo: 'Go to your account',
  }[model.purpose];
  return standalonePage({
    title: 'This link no longer works',
    body: html`<h1>This link no longer works</h1>
<p>It has already been used, has been replaced by a newer one, or has expired. If you copied it, part of it may be missing.</p>
<p class="buttons"><a class="primary" href="${model.links.retry}">${retry}</a></p>`,
  });
}
