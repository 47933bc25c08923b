import { ALERT_ID, alertBox, field, form, type PageForm } from '@gatehouse/web/form';
import { duration, named } from '@gatehouse/web/formatting';
import { type Content, html } from '@gatehouse/web/html';
import { REMEMBERED_DAYS } from '../../core/sessions/remembered-browser.ts';
import type { SecondFactor } from '../../core/sessions/second-factor.ts';
import { standalonePage } from '../../pages/document.ts';
import { type RequestingApplication, requestingApplication } from '../../pages/requesting-application.ts';
import { t } from '../../texts/texts.ts';

/** Why a code was refused. `retryAfter` is in seconds. */
export type CodeProblem =
  | { kind: 'wrong_code' }
  | { kind: 'too_many_codes'; retryAfter: number }
  | { kind: 'known_browsers_only' };

export type SecondFactorModel = {
  form: PageForm;
  application?: RequestingApplication | undefined;
  username: string;
  /** The one to use comes first; the others are offered below. */
  factors: readonly Pick<SecondFactor, 'name' | 'field'>[];
  problem?: CodeProblem | undefined;
  /** Other ways to sign in to the account, which need no code. */
  methods: readonly { form: PageForm; fields: Content }[];
  scripts: readonly string[];
  /** For somebody who is signed in, and asked for more: whether the application takes less, too. */
  stepUp?: { isOptional: boolean } | undefined;
  /** To begin again, as with another account, and for who has lost all factors. */
  links: { signIn: string; lost?: string | undefined };
};

/** The field of the box that makes this browser remembered. */
export const REMEMBER = 'remember_browser';
/** The button by which somebody who is signed in gives nothing more. */
export const SKIP = 'skip';

export function secondFactorPage(model: SecondFactorModel): string {
  const { factors, problem, methods, stepUp } = model;
  const username = named(model.username);
  const [first, ...others] = factors;
  const input = (it: Pick<SecondFactor, 'name' | 'field'>, isFirst: boolean) =>
    field({
      ...it.field,
      ...{ name: it.name, required: true, autofocus: isFirst },
      ...(isFirst ? { invalid: problem?.kind === 'wrong_code', describedBy: problem && ALERT_ID } : {}),
    });
  return standalonePage({
    application: model.application,
    title: factors.length === 0 ? t('Use your passkey') : t('Enter a code'),
    failed: problem !== undefined,
    scripts: model.scripts,
    body: html`<p class="before-asking">${t('to continue to')}</p>${requestingApplication(model.application)}
<p>${stepUp === undefined ? t('The account {username} needs a code in addition to the password.', { username }) : t('You are signed in as {username}. To go on, you need a stronger sign-in.', { username })}</p>
${problem && problemBox(problem)}
${methods.map((method) => form(method.form, method.fields))}
${
  first !== undefined &&
  form(
    model.form,
    html`${input(first, true)}
<div class="check"><input type="checkbox" id="${REMEMBER}" name="${REMEMBER}" value="yes" autocomplete="off"><label for="${REMEMBER}">${t('Do not ask for a code in this browser for {days} days', { days: REMEMBERED_DAYS })}</label></div>
<div class="buttons"><button class="primary">${t('Sign in')}</button></div>`,
  )
}
${others.map(
  (other) => html`<details><summary>${other.field.use ?? other.field.label}</summary>
${form(model.form, html`${input(other, false)}<div class="buttons"><button class="secondary">${t('Sign in with this code')}</button></div>`)}</details>`,
)}
${
  stepUp &&
  form(
    model.form,
    html`<div class="buttons"><button class="secondary" name="${SKIP}" value="yes">${stepUp.isOptional ? t('Go on without') : t('Cancel')}</button></div>`,
  )
}
<ul class="ways">
${model.links.lost !== undefined && html`<li><a href="${model.links.lost}">${t('Lost your app and your recovery codes?')}</a></li>`}
<li><a href="${model.links.signIn}">${t('Sign in with another account')}</a></li>
</ul>`,
  });
}

function problemBox(problem: CodeProblem) {
  switch (problem.kind) {
    case 'wrong_code':
      return alertBox(
        t('That code is not right'),
        html`<p>${t('Each code works once. Wait until your app shows the next one, and check that the clock of its device is right.')}</p>`,
      );
    case 'too_many_codes':
      return alertBox(
        t('Too many codes'),
        html`<p>${t('Please wait {time}, then try again.', { time: duration(problem.retryAfter) })}</p>`,
      );
    case 'known_browsers_only':
      return alertBox(
        t('Too many wrong codes in a row'),
        html`<p>${t('For now, you can sign in to this account only in a browser in which you have entered a code before. Or set a new password: choose “Forgotten your password?” on the sign-in page.')}</p>`,
      );
  }
}
