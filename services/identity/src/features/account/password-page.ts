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
import { ACCOUNT_PAGES } from './account-pages.ts';

export type PasswordModel = {
  frame: AccountFrame;
  form: PageForm;
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
export function passwordPart(): Html {
  return html`<p>Your password and your username, or your confirmed email address, sign you in.</p>
<p class="buttons"><a class="secondary" href="${ACCOUNT_PAGES.password}">Change the password</a></p>`;
}

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
<p>A new password ends all your other sessions and the access of all applications that you have allowed.</p>
${retryAfter !== undefined && alertBox('Too many attempts', html`<p>Please wait ${duration(retryAfter)}, then try again.</p>`)}
${problemSummary(problems, FIELDS)}
${form(
  model.form,
  html`${usernameForPasswordManagers(model.frame.username)}
${field({ ...common('current_password'), label: 'Current password', autocomplete: 'current-password' })}
${field({ ...common('new_password'), label: 'New password', hint: 'At least 8 characters. A few random words make a good password.', autocomplete: 'new-password', minlength: 8 })}
<div class="buttons"><button class="primary">Change password</button></div>`,
)}`,
  });
}
