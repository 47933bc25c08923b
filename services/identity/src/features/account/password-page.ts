import type { FieldProblem, ServiceError } from '@gatehouse/core/errors';
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
import { formProblems } from '../../pages/page-errors.ts';
import { t } from '../../texts/texts.ts';
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

export const PASSWORD_FIELDS = ['current_password', 'new_password'];

/** After a new password, which does not end what the person's own applications have. */
export function offerToEndCredentials(way: Html): Html {
  return html`<section class="card"><h2>${t('Did somebody else know your password?')}</h2>
<p>${t('That person may have created secrets and keys for your applications, and these still work. End all secrets and keys, then create new ones.')}</p>
${way}</section>`;
}

/** The password on the page about how an account is signed in to. */
export function passwordPart(hasPassword: boolean): Html {
  return html`<p>${hasPassword ? t('Your password and your username, or your confirmed email address, sign you in.') : t('You have no password, so nobody can guess or steal it.')}</p>
<p class="buttons"><a class="secondary" href="${ACCOUNT_PAGES.password}">${hasPassword ? t('Change the password') : t('Set a password')}</a></p>`;
}

/** Before the password is removed. */
export const removePasswordQuestion = (): Question => ({
  title: t('Remove your password?'),
  lost: html`<p>${t('Your password no longer signs you in. You sign in with a passkey or another account that you have connected.')}</p>
<p>${t('All your other sessions end, and so does the access of all applications that you have allowed.')}</p>`,
  submit: t('Remove password'),
  back: ACCOUNT_PAGES.password,
});

/** The fields of a form that changes the password. */
export function passwordFields({
  hasPassword,
  problems,
}: {
  hasPassword: boolean;
  problems: readonly FieldProblem[];
}): Html {
  const focused = PASSWORD_FIELDS.find((name) => problemOf(problems, name) !== undefined);
  const common = (name: string) => ({
    name,
    type: 'password' as const,
    required: true,
    problem: problemOf(problems, name),
    autofocus: name === focused,
  });
  return html`${hasPassword && field({ ...common('current_password'), label: t('Current password'), autocomplete: 'current-password' })}
${field({ ...common('new_password'), label: t('New password'), hint: t('At least 8 characters. A few random words make a good password.'), autocomplete: 'new-password', minlength: 8 })}`;
}

/** The problems of these fields. */
export function passwordProblems(error: ServiceError): readonly FieldProblem[] {
  if (error.kind === 'forbidden') return [{ field: 'current_password', message: 'is not right' }];
  return formProblems(error, (field) => (field === 'password' ? 'new_password' : field));
}

export function passwordPage(model: PasswordModel): string {
  const { problems = [], retryAfter } = model;
  return accountDocument({
    title: t('Password'),
    failed: problems.length > 0 || retryAfter !== undefined,
    frame: model.frame,
    current: ACCOUNT_PAGES.password,
    body: html`${model.endCredentials !== undefined && offerToEndCredentials(html`<p class="buttons"><a class="danger" href="${model.endCredentials}">${t('End all secrets and keys')}</a></p>`)}
<p>${!model.hasPassword && html`${t('You have no password: you sign in without one.')} `}${t('A new password ends all your other sessions and the access of all applications that you have allowed.')}</p>
${retryAfter !== undefined && alertBox(t('Too many attempts'), html`<p>${t('Please wait {time}, then try again.', { time: duration(retryAfter) })}</p>`)}
${problemSummary(problems, PASSWORD_FIELDS)}
${form(
  model.form,
  html`${usernameForPasswordManagers(model.frame.username)}
${passwordFields({ hasPassword: model.hasPassword, problems })}
<div class="buttons"><button class="primary">${model.hasPassword ? t('Change password') : t('Set password')}</button></div>`,
)}
${
  model.remove !== undefined &&
  html`<section class="card"><h2>${t('Sign in without a password')}</h2>
<p>${t('You have another way to sign in. Without a password, nobody can guess or steal it.')}</p>
<p class="buttons"><a class="danger" href="${model.remove}">${t('Remove the password')}</a></p></section>`
}`,
  });
}
