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
import { duration } from '@gatehouse/web/formatting';
import { type Html, html } from '@gatehouse/web/html';
import { type AccountFrame, accountDocument } from '../../pages/account/account-document.ts';
import type { Question } from '../../pages/account/confirmation-pages.ts';
import { ACCOUNT_PAGES } from './account-pages.ts';

export type PasswordModel = {
  frame: AccountFrame;
  form: PageForm;
  hasPassword: boolean;
  /** The page that asks whether to remove it; undefined when nothing else signs in. */
  remove?: string | undefined;
  /** Problems of `current_password` and `new_password`. */
  problems?: readonly FieldProblem[] | undefined;
  /** Seconds to wait when the current password was wrong too often. */
  retryAfter?: number | undefined;
  /** The page that asks whether to end them; offered after a change to somebody who has applications of their own. */
  endCredentials?: string | undefined;
};

const FIELDS = ['current_password', 'new_password'];

/** After a new password, which does not end what the person's own applications have. */
export function offerToEndCredentials(way: Html): Html {
  return html`<section class="card"><h2>Did somebody else know your password?</h2>
<p>That person may have created secrets and keys for your applications, and these still work. End all secrets and keys, then create new ones.</p>
${way}</section>`;
}

/** The password on the page about how an account is signed in to. */
export function passwordPart(hasPassword: boolean): Html {
  return html`<p>${hasPassword ? 'Your password and your username, or your confirmed email address, sign you in.' : 'You have no password, so nobody can guess or steal it.'}</p>
<p class="buttons"><a class="secondary" href="${ACCOUNT_PAGES.password}">${hasPassword ? 'Change the password' : 'Set a password'}</a></p>`;
}

/** Before the password is removed. */
export const REMOVE_PASSWORD_QUESTION: Question = {
  title: 'Remove your password?',
  lost: html`<p>Your password no longer signs you in. You sign in with a passkey or another account that you have connected.</p>
<p>All your other sessions end, and so does the access of all applications that you have allowed.</p>`,
  submit: 'Remove password',
  back: ACCOUNT_PAGES.password,
};

export function passwordPage(model: PasswordModel): string {
  const { problems = [], retryAfter } = model;
  const focused = FIELDS.find((name) => problemOf(problems, name) !== undefined);
  const common = (name: string) => ({
    name,
    type: 'password' as const,
    required: true,
    problem: problemOf(problems, name),
    autofocus: name === focused,
  });
  return accountDocument({
    title: 'Password',
    failed: problems.length > 0 || retryAfter !== undefined,
    frame: model.frame,
    current: ACCOUNT_PAGES.password,
    body: html`${model.endCredentials !== undefined && offerToEndCredentials(html`<p class="buttons"><a class="danger" href="${model.endCredentials}">End all secrets and keys</a></p>`)}
<p>${model.hasPassword ? '' : 'You have no password: you sign in without one. '}A new password ends all your other sessions and the access of all applications that you have allowed.</p>
${retryAfter !== undefined && alertBox('Too many attempts', html`<p>Please wait ${duration(retryAfter)}, then try again.</p>`)}
${problemSummary(problems, FIELDS)}
${form(
  model.form,
  html`${usernameForPasswordManagers(model.frame.username)}
${model.hasPassword && field({ ...common('current_password'), label: 'Current password', autocomplete: 'current-password' })}
${field({ ...common('new_password'), label: 'New password', hint: 'At least 8 characters. A few random words make a good password.', autocomplete: 'new-password', minlength: 8 })}
<div class="buttons"><button class="primary">${model.hasPassword ? 'Change password' : 'Set password'}</button></div>`,
)}
${
  model.remove !== undefined &&
  html`<section class="card"><h2>Sign in without a password</h2>
<p>You have another way to sign in. Without a password, nobody can guess or steal it.</p>
<p class="buttons"><a class="danger" href="${model.remove}">Remove the password</a></p></section>`
}`,
  });
}
