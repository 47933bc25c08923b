import { ALERT_ID, alertBox, field, form, type PageForm } from '@gatehouse/web/form';
import { duration, named } from '@gatehouse/web/formatting';
import { type Content, html } from '@gatehouse/web/html';
import type { SignInMessage } from '../../core/sessions/sign-in-method.ts';
import { standalonePage } from '../../pages/document.ts';
import { type RequestingApplication, requestingApplication } from '../../pages/requesting-application.ts';
import { t } from '../../texts/texts.ts';

/** Why signing in failed. `retryAfter` is in seconds. */
export type SignInProblem =
  | { kind: 'wrong_password' }
  | { kind: 'too_many_attempts'; retryAfter: number }
  | { kind: 'known_devices_only' }
  | { kind: 'unavailable' }
  | { kind: 'too_late' }
  | ({ kind: 'method' } & SignInMessage);

export type SignInModel = {
  form: PageForm;
  application?: RequestingApplication | undefined;
  /** The login that was entered before, or that the application suggests (login_hint). */
  username?: string | undefined;
  /** The username of a person who is signed in and has to enter the password again. */
  signedInAs?: string | undefined;
  problem?: SignInProblem | undefined;
  /** The message for the person before the sign-in. */
  notice?: SignInMessage | undefined;
  links: { forgottenPassword: string; createAccount?: string };
  /** Ways to sign in beside the password, each a form. */
  methods: readonly { form: PageForm; fields: Content }[];
  scripts: readonly string[];
  /** Whether some people have none, as their organization signs them in. */
  isPasswordOptional?: boolean;
  /** Whether there is a second button, named `cancel`, to go back to the application. */
  cancel: boolean;
  isPreview?: boolean;
};

export function signInPage(model: SignInModel): string {
  const { application, problem, notice, signedInAs, links, methods } = model;
  const username = model.username ?? signedInAs ?? '';
  const wrong = problem?.kind === 'wrong_password';
  const title = signedInAs === undefined ? t('Sign in') : t('Confirm that it is you');
  const common = { required: true, invalid: wrong, describedBy: problem && ALERT_ID };
  const passwordNeed = model.isPasswordOptional
    ? { required: false, hint: t('Leave it empty if your organization signs you in.') }
    : {};
  return standalonePage({
    ...{ application, isPreview: model.isPreview },
    title,
    failed: problem !== undefined,
    scripts: model.scripts,
    body: html`<p class="before-asking">${t('to continue to')}</p>${requestingApplication(application)}
${signedInAs !== undefined && html`<p>${t('You are signed in as {username}. For your safety, sign in again to go on.', { username: named(signedInAs) })}</p>`}
${problem && problemBox(problem)}
${notice && html`<div class="notice" role="status"><p class="alert-title">${notice.title}</p><p>${notice.advice}</p></div>`}
${form(
  model.form,
  html`${field({ ...common, name: 'username', label: t('Username or email'), value: username, autocomplete: model.scripts.length > 0 ? 'username webauthn' : 'username', autofocus: username === '' })}
${field({ ...common, ...passwordNeed, name: 'password', label: t('Password'), type: 'password', autocomplete: 'current-password', autofocus: username !== '' })}
<div class="buttons"><button class="primary">${t('Sign in')}</button>
${model.cancel && html`<button class="secondary" name="cancel" value="cancel" formnovalidate>${t('Cancel')}</button>`}</div>`,
)}
${methods.map((method) => form(method.form, method.fields))}
<ul class="ways">
<li><a href="${links.forgottenPassword}">${t('Forgotten your password?')}</a></li>
${signedInAs === undefined && links.createAccount !== undefined && html`<li>${t('New here?')} <a href="${links.createAccount}">${t('Create an account')}</a></li>`}
</ul>`,
  });
}

/** The account of this browser as a choice (OpenID Connect Core §3.1.2.1, `select_account`). */
export function chooseAccountPage({
  application,
  username,
  ...model
}: Pick<SignInModel, 'form' | 'application'> & {
  username: string;
  links: { useAnotherAccount: string };
}): string {
  return standalonePage({
    application,
    title: t('Choose an account'),
    body: html`<p class="before-asking">${t('to continue to')}</p>${requestingApplication(application)}
${form(
  model.form,
  html`<div class="buttons"><button class="primary" name="continue" value="continue">${t('Continue as {username}', { username: named(username) })}</button>
<a class="secondary" href="${model.links.useAnotherAccount}">${t('Use another account')}</a>
<button class="secondary" name="cancel" value="cancel">${t('Cancel')}</button></div>`,
)}`,
  });
}

/** Before somebody who has signed in goes on. */
export function afterSignInPage({ title, advice }: SignInMessage, next: string): string {
  return standalonePage({
    title,
    body: html`<p>${advice}</p>
<p class="buttons"><a class="primary" href="${next}">${t('Continue')}</a></p>`,
  });
}

function problemBox(problem: SignInProblem) {
  switch (problem.kind) {
    case 'wrong_password':
      return alertBox(
        t('That username and password do not match'),
        html`<p>${t('Check both and try again.')}</p>`,
      );
    case 'too_many_attempts':
      return alertBox(
        t('Too many attempts'),
        html`<p>${t('Please wait {time}, then try again.', { time: duration(problem.retryAfter) })}</p>`,
      );
    case 'known_devices_only':
      return alertBox(
        t('Too many wrong passwords in a row'),
        html`<p>${t('For now, a password signs in to this account only in a browser or from a network that you have signed in from before. Use a passkey if you have one, or choose “Forgotten your password?” and follow the link in the mail.')}</p>`,
      );
    case 'method':
      return alertBox(problem.title, html`<p>${problem.advice}</p>`);
    case 'too_late':
      return alertBox(
        t('Please sign in again'),
        html`<p>${t('The code has to be entered within ten minutes of the password, in the same browser. Nothing was lost.')}</p>`,
      );
    case 'unavailable':
      return alertBox(
        t('Signing in is not possible right now'),
        html`<p>${t('The fault is ours, not yours. Please try again in a minute.')}</p>`,
      );
  }
}
