import { form, type PageForm } from '@gatehouse/web/form';
import { dateAndTime, duration, named } from '@gatehouse/web/formatting';
import { html } from '@gatehouse/web/html';
import { translated } from '@gatehouse/web/language';
import type { UndoableChange } from '../../../core/accounts/notice.ts';
import { standalonePage } from '../../../pages/document.ts';
import { type Text, t } from '../../../texts/texts.ts';

export type EmailVerifyModel = {
  /** With the token of the mailed link in `hidden`. */
  form: PageForm;
  email: string;
  username: string;
};

/** Asks to press a button, as programs that scan mail follow links, but do not submit forms. */
export function emailVerifyPage(model: EmailVerifyModel): string {
  return standalonePage({
    title: t('Confirm your email address'),
    body: html`<p>${t('Is {email} your address, and is {username} your account?', { email: named(model.email), username: named(model.username) })}</p>
${form(model.form, html`<div class="buttons"><button class="primary">${t('Confirm this address')}</button></div>`)}
<p class="hint">${t('If this is not your account, close this page. Somebody may have mistyped an email address.')}</p>`,
  });
}

export type EmailOfOtherAccountModel = {
  signOut: PageForm;
  /** The username of the account that is signed in. */
  username: string;
};

/** Only whoever is signed in to the account of a link confirms its address: a stranger's account is nobody else's. */
export function emailOfOtherAccountPage(model: EmailOfOtherAccountModel): string {
  return standalonePage({
    title: t('This link is for another account'),
    body: html`<p>${t('You are signed in as {username}. The email address was not confirmed. If the other account is yours as well, sign out, open the link in the mail again, and sign in to that account.', { username: named(model.username) })}</p>
<p>${t('If you have no other account, close this page. Somebody may have mistyped an email address.')}</p>
${form(model.signOut, html`<div class="buttons"><button class="primary">${t('Sign out')}</button></div>`)}`,
  });
}

export type EmailVerifiedModel = { email: string; links: { account?: string } };

export function emailVerifiedPage(model: EmailVerifiedModel): string {
  const { account } = model.links;
  return standalonePage({
    title: t('Your email address is confirmed'),
    body: html`<p>${t('From now on you can also sign in with {email}.', { email: named(model.email) })}</p>
${account !== undefined && html`<p class="buttons"><a class="primary" href="${account}">${t('Go to your account')}</a></p>`}`,
  });
}

export type UndoModel = {
  /** With the token of the mailed link in `hidden`. */
  form: PageForm;
  email: string;
  username: string;
  /** When the mail about the change was sent. */
  at: Date;
  change: UndoableChange;
  isEmail?: boolean;
};

/** The change whose page also gives the address back. */
export const EMAIL_CHANGED: UndoableChange = {
  name: 'email',
  done: 'The email address was changed.',
  undone:
    'All passkeys and connected accounts stop working, and so does an authenticator app that was set up lately.',
};

const ADDED: Text =
  'Passkeys, connected accounts, authenticator apps and recovery codes that were added in the last 72 hours stop working.';
/** Asks to press a button, as emailVerifyPage does. */
export function undoPage(model: UndoModel): string {
  const { form: target, email, username, at, change, isEmail = false } = model;
  return standalonePage({
    title: isEmail ? t('Restore your email address') : t('Was this not you?'),
    body: html`<p>${translated(change.done)} ${t('We sent you a mail about it on {time}. If you undo it:', { time: dateAndTime(at) })}</p>
<ul>
${isEmail && html`<li>${t('The account {username} has the email address {email} again.', { username: named(username), email: named(email) })}</li>`}
<li>${t('All sessions of the account {username} end, in all browsers and programs, and its password stops working.', { username: named(username) })}</li>
<li>${translated(change.undone ?? ADDED)}</li>
<li>${t('We send a link to {email}, with which you choose a new password.', { email: named(email) })}</li>
</ul>
${form(target, html`<div class="buttons"><button class="danger">${isEmail ? t('Restore this address') : t('Undo this change')}</button></div>`)}
<p class="hint">${t('If it was you, close this page. Nothing changes then.')}</p>`,
  });
}

export type UndoneModel = { email: string; minutes: number; links: { forgottenPassword: string } };

export function undonePage({ email, minutes, links }: UndoneModel): string {
  return standalonePage({
    title: t('Check your mail'),
    body: html`<p class="notice" role="status">${t('The change is undone. All sessions of the account have ended, and the old password no longer works.')}</p>
<p>${t('We have sent a link to {email}. Choose a new password with it, then sign in, and look at the page “Security” of your account. The link works once, for {time}.', { email: named(email), time: duration(minutes * 60) })}</p>
<p>${t('If you got mails about other changes that were not yours, open the links in those as well. If somebody else may read your mail, change the password of your mailbox first.')}</p>
<ul class="ways"><li><a href="${links.forgottenPassword}">${t('Send another link')}</a></li></ul>`,
  });
}

export type LinkInvalidModel = {
  purpose: 'new_password' | 'email' | 'undo';
  /** Where to get another link. */
  links: { retry: string };
};

export function linkInvalidPage(model: LinkInvalidModel): string {
  const retry = {
    new_password: t('Request a new link'),
    email: t('Go to your profile and send another link'),
    undo: t('Go to your account'),
  }[model.purpose];
  return standalonePage({
    title: t('This link no longer works'),
    body: html`<p>${t('The link has already been used, was replaced by a newer link, or has expired. If you copied the link, part of it may be missing.')}</p>
${model.purpose === 'undo' && html`<p>${t('If the email address of your account was changed since, open the link in the mail about that.')}</p>`}
<p class="buttons"><a class="primary" href="${model.links.retry}">${retry}</a></p>`,
  });
}
