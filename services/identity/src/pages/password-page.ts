import type { FieldProblem } from '@gatehouse/kit/errors';
import {
  alertBox,
  field,
  form,
  type PageForm,
  problemOf,
  problemSummary,
  usernameForPasswordManagers,
} from '@gatehouse/ui/form';
import { duration } from '@gatehouse/ui/formatting';
import { type Html, html } from '@gatehouse/ui/html';
import { type AccountFrame, accountDocument } from './account-document.ts';

export type PasswordModel = {
  frame: AccountFrame;
  form: PageForm;
  /** Problems of `current_password` and `new_password`. */
  problems?: readonly FieldProblem[] | undefined;
  /** Seconds to wait when the current password was wrong too often. */
  retryAfter?: number | undefined;
  notice?: 'saved' | undefined;
  /** Offered after a change to somebody who has applications of their own. */
  endCredentials?: PageForm | undefined;
};

const FIELDS = ['current_password', 'new_password'];

/** After a new password, which does not end what the person's own applications have. */
export function offerToEndCredentials(end: PageForm): Html {
  return html`<section class="card"><h2>Did somebody else know your password?</h2>
<p>Then they may have made secrets and keys for applications of yours, which still work. End them all, and give your applications new ones.</p>
${form(end, html`<button class="danger">End all secrets and keys</button>`)}</section>`;
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
    notice: model.notice && 'Your new password is saved. All other devices and applications are signed out.',
    frame: model.frame,
    current: 'password',
    body: html`${model.endCredentials !== undefined && offerToEndCredentials(model.endCredentials)}
<p>A new password ends all your other sessions and the access of all applications that you have allowed.</p>
${retryAfter !== undefined && alertBox('Too many attempts', html`<p>Please wait ${duration(retryAfter)}, then try again.</p>`)}
${problemSummary(problems, FIELDS)}
${form(
  model.form,
  html`${usernameForPasswordManagers(model.frame.username)}
${field({ ...common('current_password'), label: 'Current password', autocomplete: 'current-password' })}
${field({ ...common('new_password'), label: 'New password', hint: 'At least 8 characters. A few random words make a good one.', autocomplete: 'new-password', minlength: 8 })}
<div class="buttons"><button class="primary">Change password</button></div>`,
)}`,
  });
}
