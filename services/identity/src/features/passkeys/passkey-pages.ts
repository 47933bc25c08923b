import type { FieldProblem } from '@gatehouse/core/errors';
import { alertBox, field, form, type PageForm, problemOf, problemSummary } from '@gatehouse/web/form';
import { ago, dateAndTime, named } from '@gatehouse/web/formatting';
import { type Html, html } from '@gatehouse/web/html';
import { translated } from '@gatehouse/web/language';
import {
  type AccountFrame,
  accountDocument,
  type ScriptedPart,
} from '../../pages/account/account-document.ts';
import type { Question } from '../../pages/account/confirmation-pages.ts';
import { standalonePage } from '../../pages/document.ts';
import { type RequestingApplication, requestingApplication } from '../../pages/requesting-application.ts';
import { t } from '../../texts/texts.ts';
import type { Passkey } from './passkey.ts';

/** Where people manage their passkeys. */
export const PASSKEYS = '/account/passkeys';
export const ADD = `${PASSKEYS}/add`;

/** The part of the sign-in page for browsers that have passkeys. */
export function signInFields(options: object): Html {
  return html`<input type="hidden" name="passkey" data-passkey="get" data-options="${JSON.stringify(options)}">
<div class="buttons" data-passkey-part hidden><button class="secondary">${t('Sign in with a passkey')}</button></div>
${failureBox(t('No passkey was used. Try again, or sign in with your password.'))}`;
}

export type SignUpModel = {
  options: object;
  /** The field with the id that the passkey is made for. */
  user: { name: string; value: string };
  /** The id of a credential that the browser has made and that belongs to no account. */
  unknown: string | undefined;
};

/** The part of the form for a new account that makes a passkey for it, where the browser can. */
export function signUpFields({ options, user, unknown }: SignUpModel): Html {
  return html`<input type="hidden" name="${user.name}" value="${user.value}">
<input type="hidden" name="passkey" data-passkey="sign-up" data-options="${JSON.stringify(options)}"${unknown !== undefined && html` data-unknown="${unknown}"`}>
<div data-passkey-part hidden>
<p class="hint">${t('A passkey signs you in with your fingerprint, your face, or the PIN of your device. There is no password to remember, and none to steal.')}</p>
${failureBox(t('No passkey was created, and no account. Try again, or choose a password.'))}
<div class="buttons"><button class="primary">${t('Create account with a passkey')}</button>
<button type="button" class="secondary" data-use-password>${t('Use a password instead')}</button></div></div>`;
}

/** The messages that the script shows when the browser makes or uses no passkey; `duplicate` when the device has one already. */
function failureBox(other: string, duplicate = other): Html {
  return html`<p class="field-problem" role="status" data-other="${other}" data-duplicate="${duplicate}" hidden></p>`;
}

/** The passkeys on the page about how an account is signed in to. */
export function passkeysPart(count: number): Html {
  return html`<p>${count === 0 ? t('You have no passkeys.') : t('You have {count} passkeys.', { count })} ${t('A passkey signs you in without a password and without a code.')}</p>
<p class="buttons"><a class="secondary" href="${PASSKEYS}">${count === 0 ? t('Add a passkey') : t('Manage passkeys')}</a></p>`;
}

type PasskeyView = Pick<Passkey, 'id' | 'name' | 'isSynced' | 'isSyncable' | 'createdAt' | 'lastUsedAt'> & {
  rename: PageForm;
};

/** The signals to password managers on a page, for its script. */
export const signalsPart = (signals: object): Html =>
  html`<div hidden data-passkey-signals="${JSON.stringify(signals)}"></div>`;

export type PasskeysModel = {
  frame: AccountFrame;
  /** Signals to password managers, after a change. */
  signals?: ScriptedPart | undefined;
  passkeys: readonly PasskeyView[];
  /** The page on which one is added; undefined when there are as many as there can be. */
  add: string | undefined;
  /** Whether nothing but the one passkey signs in to the account. */
  isOnlyWay: boolean;
  /** The problems of the name that was given to a passkey. */
  problems?: readonly FieldProblem[] | undefined;
};

export function passkeysPage({
  frame,
  signals,
  passkeys,
  add,
  isOnlyWay,
  problems = [],
}: PasskeysModel): string {
  return accountDocument({
    title: t('Passkeys'),
    failed: problems.length > 0,
    frame,
    current: PASSKEYS,
    scripts: signals?.scripts ?? [],
    body: html`${signals?.content}<p>${t('A passkey signs you in with your fingerprint, your face, or the PIN of your device. It works on this site only, so no other site can steal it.')}</p>
${problemSummary(problems, [])}
${add === undefined ? html`<p>${t('You have as many passkeys as an account can have. Remove one to add another.')}</p>` : html`<p class="buttons"><a class="primary" href="${add}">${t('Add a passkey')}</a></p>`}
${passkeys.length === 0 ? html`<p>${t('You have no passkeys yet.')}</p>` : html`<ul class="cards">${passkeys.map((it) => card(it, isOnlyWay))}</ul>`}`,
  });
}

function card(
  { id, name, isSynced, isSyncable, createdAt, lastUsedAt, rename }: PasskeyView,
  isOnlyWay: boolean,
): Html {
  const place = isSynced
    ? t('Synced between your devices')
    : isSyncable
      ? t('On one device, not synced yet')
      : t('On one device or security key');
  return html`<li class="card"><h2 id="${id}"><bdi>${name}</bdi></h2>
<dl class="card-facts">
<div><dt>${t('Stored')}</dt><dd>${place}</dd></div>
<div><dt>${t('Added')}</dt><dd>${dateAndTime(createdAt)}</dd></div>
<div><dt>${t('Last used')}</dt><dd>${lastUsedAt === null ? t('Never') : dateAndTime(lastUsedAt)}</dd></div>
</dl>
<details><summary>${t('Rename')}<span class="visually-hidden"> ${name}</span></summary>
${form(
  rename,
  html`<div class="field"><label for="name-${id}">${t('New name')}</label><input id="name-${id}" name="name" value="${name}" autocomplete="off" dir="auto" required></div>
<button class="secondary">${t('Save the name')}</button>`,
)}</details>
${isOnlyWay ? html`<p class="hint">${t('Nothing else signs you in. To remove this passkey, add another one or {link} first.', { link: html`<a href="/account/password">${t('set a password')}</a>` })}</p>` : html`<p class="buttons"><a class="danger" href="${PASSKEYS}/${id}/remove" aria-describedby="${id}">${t('Remove')}</a></p>`}</li>`;
}

export type AddPasskeyModel = {
  frame: AccountFrame;
  form: PageForm;
  /** PublicKeyCredentialCreationOptionsJSON */
  options: object;
  name: string;
  scripts: readonly string[];
  problems?: readonly FieldProblem[] | undefined;
  /** The problem, if it is not the name. */
  problem?: string | undefined;
};

export function addPasskeyPage(model: AddPasskeyModel): string {
  const { problems = [], problem } = model;
  return accountDocument({
    title: t('Add a passkey'),
    failed: problems.length > 0 || problem !== undefined,
    frame: model.frame,
    current: PASSKEYS,
    scripts: model.scripts,
    body: html`<p>${t('Your browser asks where to save the passkey: on this device, in your password manager, on a phone, or on a security key.')}</p>
${problem !== undefined && alertBox(translated(problem))}${problemSummary(problems, ['name'])}
<p data-no-passkey>${t('This browser cannot add a passkey. Passkeys need JavaScript and a current browser.')}</p>
${form(
  model.form,
  html`<input type="hidden" name="passkey" data-passkey="create" data-options="${JSON.stringify(model.options)}">
<div data-passkey-part hidden>${field({ name: 'name', label: t('Name'), hint: t('A name by which you recognise the passkey, such as that of the device.'), value: model.name, autocomplete: 'off', required: true, problem: problemOf(problems, 'name') })}</div>
${failureBox(t('No passkey was added. Try again.'), t('This device already has a passkey for your account. Choose another device, or cancel.'))}
<div class="buttons" data-passkey-part hidden><button class="primary">${t('Add a passkey')}</button><a class="secondary" href="${PASSKEYS}">${t('Cancel')}</a></div>`,
)}`,
  });
}

export type UpgradeModel = {
  form: PageForm;
  application?: RequestingApplication | undefined;
  username: string;
  /** PublicKeyCredentialCreationOptionsJSON */
  options: object;
  scripts: readonly string[];
};

/** The browser creates a passkey or none, and the script goes on. */
export function upgradePage({ form: target, application, username, options, scripts }: UpgradeModel): string {
  return standalonePage({
    application,
    title: t('Signing you in'),
    scripts,
    body: html`<p class="before-asking">${t('to continue to')}</p>${requestingApplication(application)}
<p>${t('Your browser may add a passkey for {username}, so that you need no password next time.', { username: named(username) })}</p>
${form(
  target,
  html`<input type="hidden" name="passkey" data-passkey="upgrade" data-options="${JSON.stringify(options)}">
<div class="buttons"><button class="primary">${t('Continue')}</button></div>`,
)}`,
  });
}

/** Before a passkey is removed. */
export function removePasskeyQuestion({ name, lastUsedAt }: Passkey): Question {
  const passkey = html`<strong><bdi>${name}</bdi></strong>`;
  return {
    title: t('Remove this passkey?'),
    lost: html`<p>${lastUsedAt === null ? t('The passkey {passkey}, never used, no longer signs you in. Sessions that began with it end, except this one. All other ways to sign in stay.', { passkey }) : t('The passkey {passkey}, last used {time}, no longer signs you in. Sessions that began with it end, except this one. All other ways to sign in stay.', { passkey, time: ago(lastUsedAt) })}</p>
<p>${t('The passkey may remain on your device, where you can delete it as well.')}</p>`,
    submit: t('Remove passkey'),
    back: PASSKEYS,
  };
}
