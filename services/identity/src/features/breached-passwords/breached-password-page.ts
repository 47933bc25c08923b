import type { ServiceError } from '@gatehouse/core/errors';
import { form, type PageForm, problemSummary, usernameForPasswordManagers } from '@gatehouse/web/form';
import { named } from '@gatehouse/web/formatting';
import { html } from '@gatehouse/web/html';
import { standalonePage } from '../../pages/document.ts';
import { type RequestingApplication, requestingApplication } from '../../pages/requesting-application.ts';
import { t } from '../../texts/texts.ts';
import { PASSWORD_FIELDS, passwordFields, passwordProblems } from '../account/password-page.ts';

type BreachedPasswordModel = {
  form: PageForm;
  application?: RequestingApplication | undefined;
  username: string;
  /** Where the sign-in goes on. */
  next: string;
  error?: ServiceError | undefined;
};

/** For somebody who has signed in with a breached password, before they go on. */
export function breachedPasswordPage(model: BreachedPasswordModel): string {
  const { application, username, error } = model;
  const problems = error === undefined ? [] : passwordProblems(error);
  return standalonePage({
    application,
    title: t('Change your password'),
    failed: problems.length > 0,
    body: html`<p class="before-asking">${t('to continue to')}</p>${requestingApplication(application)}
<p>${t('The password of {username} has appeared in a data breach, here or elsewhere, so others can guess it. Change it, also wherever else you use it.', { username: named(username) })}</p>
<p>${t('A new password ends all your other sessions and the access of all applications that you have allowed.')}</p>
${problemSummary(problems, PASSWORD_FIELDS)}
${form(
  model.form,
  html`${usernameForPasswordManagers(username)}
${passwordFields({ hasPassword: true, problems })}
<div class="buttons"><button class="primary">${t('Change the password')}</button><a class="secondary" href="${model.next}">${t('Not now')}</a></div>`,
)}`,
  });
}
