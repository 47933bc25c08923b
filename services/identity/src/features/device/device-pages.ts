import { ALERT_ID, alertBox, field, form, type PageForm } from '@gatehouse/web/form';
import { ago, named } from '@gatehouse/web/formatting';
import { type Html, html } from '@gatehouse/web/html';
import { standalonePage } from '../../pages/document.ts';
import { requestingApplication } from '../../pages/requesting-application.ts';
import { t } from '../../texts/texts.ts';

/** Why a code was refused, by the names of oidc-provider's errors. */
export const USER_CODE_PROBLEMS = [
  'NoCodeError',
  'NotFoundError',
  'ExpiredError',
  'AlreadyUsedError',
] as const;
/** The field in which a person has to type the code that was in a link. */
export const TYPED_CODE = 'typed_code';
export type UserCodeProblem = (typeof USER_CODE_PROBLEMS)[number];

export const isUserCodeProblem = (name: unknown): name is UserCodeProblem =>
  USER_CODE_PROBLEMS.some((problem) => problem === name);

/** The device that asks, as far as it is known. */
export type DeviceRequest = {
  at: Date;
  address: string;
  /** As the device says, which can be anything. */
  userAgent: string;
  /** Whether the browser of the person has the same address. */
  isSameAddress: boolean;
};

/** Asks for the code that a device shows (RFC 8628 §3.3). */
export function enterCodePage(model: {
  form: PageForm;
  userCode: string;
  problem?: UserCodeProblem | undefined;
}): string {
  const { problem } = model;
  return standalonePage({
    title: t('Connect a device'),
    failed: problem !== undefined,
    body: html`<p>${t('Enter the code that your television, console or other device shows.')}</p>
${problem && problemBox(problem)}
${form(
  model.form,
  html`${codeField('user_code', model.userCode, problem)}
<div class="buttons"><button class="primary">${t('Continue')}</button></div>`,
)}`,
  });
}

/** Shows which device asks, before the person signs in for it. */
export function verifyCodePage(model: {
  form: PageForm;
  application: string;
  /** Whether it is of Gatehouse itself. The page then says what it may do, as no consent page follows. */
  isFirstParty: boolean;
  /** The code to be compared with the device. Undefined if the person has to type it. */
  userCode: string | undefined;
  request: DeviceRequest;
}): string {
  const ownPages = model.isFirstParty ? t('a program that acts for you') : undefined;
  const application = { name: model.application, host: undefined, isOnOtherDevice: true, ownPages };
  return standalonePage({
    title: t('Is this your device?'),
    body: html`${requestingApplication(application)}
${model.isFirstParty && html`<p>${t('It can see and change everything here that you can, such as your applications and their keys, and stays signed in until you end its access.')}</p>`}
${
  model.userCode !== undefined &&
  html`<p>${t('Your device must show this code:')}</p>
<p class="user-code"><code dir="ltr">${model.userCode}</code></p>`
}
${deviceRequestDetails(model.request)}
${form(
  model.form,
  html`${model.userCode === undefined && html`<p>${t('Type the code that your own computer shows at this moment.')}</p>${codeField(TYPED_CODE, '')}`}
<div class="buttons"><button class="primary">${t('Yes, continue')}</button>
<button class="secondary" name="abort" value="yes" formnovalidate>${t('No, cancel')}</button></div>`,
)}`,
  });
}

/** The facts about the device that asks, and the warning of codes that others have sent (RFC 8628 §5.4). */
export function deviceRequestDetails({ at, address, userAgent, isSameAddress }: DeviceRequest): Html {
  return html`<dl class="card-facts">
<div><dt>${t('Requested')}</dt><dd>${ago(at)}</dd></div>
<div><dt>${t('From')}</dt><dd><bdi>${address}</bdi>, ${isSameAddress ? t('the same network address as this browser') : t('a different network address from this browser')}</dd></div>
${userAgent !== '' && html`<div><dt>${t('The device calls itself')}</dt><dd><bdi>${userAgent}</bdi></dd></div>`}
</dl>
<p class="notice warning">${t('Did somebody send you this code, or a link to this page? Then do not continue: that person would get access to your account.')}</p>`;
}

/** After the person has allowed it. */
export function connectedPage({ application }: { application: string }): string {
  return standalonePage({
    title: t('Your device is connected'),
    body: html`<p>${t('{application} continues on your device. You can close this page.', { application: named(application) })}</p>
<p class="hint">${t('You can end its access at any time under Applications in your account.')}</p>
<ul class="ways"><li><a href="/account">${t('Go to your account')}</a></li></ul>`,
  });
}

/** After the person has refused. */
export function notConnectedPage(): string {
  return standalonePage({
    title: t('The device was not connected'),
    body: html`<p>${t('The device has no access to your account. You can close this page.')}</p>`,
  });
}

function codeField(name: string, value: string, problem?: UserCodeProblem): Html {
  return field({
    ...{ name, label: t('Code'), value, autocomplete: 'off', required: true, autofocus: true },
    ...(problem === undefined ? {} : { invalid: true, describedBy: ALERT_ID }),
  });
}

function problemBox(problem: UserCodeProblem): Html {
  switch (problem) {
    case 'NoCodeError':
      return alertBox(t('Enter the code'), html`<p>${t('Your device shows it.')}</p>`);
    case 'NotFoundError':
    case 'ExpiredError':
      return alertBox(
        t('That code is not right'),
        html`<p>${t('Compare it with the code on your device. A code expires after ten minutes: your device can show a new one.')}</p>`,
      );
    case 'AlreadyUsedError':
      return alertBox(
        t('That code was entered before'),
        html`<p>${t('Each code can be entered once. Let your device show a new one.')}</p>`,
      );
  }
}
