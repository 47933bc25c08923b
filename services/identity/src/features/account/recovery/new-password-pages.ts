import type { FieldProblem } from '@gatehouse/core/errors';
import {
  alertBox,
  field,
  form,
  type PageForm,
  problemOf,
  problemSummary,
  usernameForPasswordManagers,
} from '@gatehouse/web/form';
import { duration, named } from '@gatehouse/web/formatting';
import { html } from '@gatehouse/web/html';
import { standalonePage } from '../../../pages/document.ts';
import { t } from '../../../texts/texts.ts';
import { offerToEndCredentials } from '../password-page.ts';

export type ForgottenPasswordModel = {
  form: PageForm;
  /** The login that was entered before. */
  login?: string | undefined;
  /** Seconds to wait when there were too many requests. */
  retryAfter?: number | undefined;
  links: { signIn: string };
};

/** Asks whose password it is; the form sends `login`. */
export function forgottenPasswordPage(model: ForgottenPasswordModel): string {
  const { login, retryAfter } = model;
  return standalonePage({
    title: t('Forgotten your password?'),
    failed: retryAfter !== undefined,
    body: html`<p>${t('Enter your username or email address. We will send a link to the confirmed email address of the account. The link lets you choose a new password.')}</p>
${retryAfter !== undefined && alertBox(t('Too many requests'), html`<p>${t('Please wait {time}, then try again.', { time: duration(retryAfter) })}</p>`)}
${form(
  model.form,
  html`${field({ name: 'login', label: t('Username or email'), value: login, autocomplete: 'username', required: true, autofocus: true })}
<div class="buttons"><button class="primary">${t('Send the link')}</button></div>`,
)}
<ul class="ways"><li><a href="${model.links.signIn}">${t('Back to sign in')}</a></li></ul>`,
  });
}

/** `minutes`: how long the link works. The page is the same whether or not there is such an account. */
export type ForgottenPasswordSentModel = { minutes: number; links: { signIn: string } };

export function forgottenPasswordSentPage(model: ForgottenPasswordSentModel): string {
  return standalonePage({
    title: t('Check your mail'),
    body: html`<p>${t('If the account exists and its email address is confirmed, we have sent a link to that address. The link works once, for {time}.', { time: duration(model.minutes * 60) })}</p>
<h2>${t('No mail?')}</h2>
<p>${t('Wait a few minutes, and check your spam folder. This page does not say whether an account exists, because strangers can see it, too.')}</p>
<ul class="ways"><li><a href="${model.links.signIn}">${t('Back to sign in')}</a></li></ul>`,
  });
}

export type NewPasswordModel = {
  /** With the token of the mailed link in `hidden`. */
  form: PageForm;
  username: string;
  /** Whether all other ways to sign in end with it. */
  isReset?: boolean;
  /** Problems of `new_password`. */
  problems?: readonly FieldProblem[] | undefined;
};

export function newPasswordPage(model: NewPasswordModel): string {
  const { problems = [], isReset = false } = model;
  return standalonePage({
    title: isReset ? t('Set up your sign-in again') : t('Choose a new password'),
    failed: problems.length > 0,
    body: html`<p>${
      isReset
        ? t('The new password is for the account {username}. All sessions of the account will end.', {
            username: named(model.username),
          })
        : t('The new password is for the account {username}. All other sessions of the account will end.', {
            username: named(model.username),
          })
    }</p>
${isReset && html`<p>${t('Its passkeys, its connected accounts, and its authenticator app with the recovery codes are removed. You sign in with the new password, and can add others in your account.')}</p>`}
${problemSummary(problems, ['new_password'])}
${form(
  model.form,
  html`${usernameForPasswordManagers(model.username)}
${field({ name: 'new_password', label: t('New password'), hint: t('At least 8 characters. A few random words make a good password.'), type: 'password', autocomplete: 'new-password', minlength: 8, required: true, autofocus: true, problem: problemOf(problems, 'new_password') })}
<div class="buttons"><button class="primary">${t('Save the new password')}</button></div>`,
)}`,
  });
}

export type NewPasswordDoneModel = {
  isReset?: boolean;
  links: { signIn: string };
  /** Leads to the question whether to end them; offered to somebody who has applications of their own. */
  endCredentials?: PageForm | undefined;
};

export function newPasswordDonePage(model: NewPasswordDoneModel): string {
  return standalonePage({
    title: t('Your new password is saved'),
    body: html`<p>${t('You are signed out everywhere. Sign in with the new password, or go back to your application.')} ${model.isReset ? t('Then add a passkey or an authenticator app in your account.') : t('Your passkeys still work: if somebody else knew your password, look at the passkeys in your account.')}</p>
${model.endCredentials !== undefined && html`<p>${t('Your registration tokens, invitations, links and offers have ended, too, and your webhooks are paused. The members, secrets and keys of your applications stay.')}</p>`}
<p class="buttons"><a class="primary" href="${model.links.signIn}">${t('Sign in')}</a></p>
${model.endCredentials !== undefined && offerToEndCredentials(form(model.endCredentials, html`<button class="danger">${t('End all secrets and keys')}</button>`))}`,
  });
}

export function credentialsEndedPage(model: { links: { signIn: string } }): string {
  return standalonePage({
    title: t('The secrets and keys have ended'),
    body: html`<p>${t('The secrets and keys of your applications no longer work. Their members, your registration tokens, the logins of your programs and what you made in applications of others have ended, too. Your webhooks are paused.')}</p>
<p class="buttons"><a class="primary" href="${model.links.signIn}">${t('Sign in')}</a></p>`,
  });
}
