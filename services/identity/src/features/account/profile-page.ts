import type { FieldProblem } from '@gatehouse/core/errors';
import { TIME_ZONES } from '@gatehouse/web/appearance';
import { field, form, type PageForm, problemOf, problemSummary, type Suggestions } from '@gatehouse/web/form';
import { type Content, html } from '@gatehouse/web/html';
import {
  type AccountFrame,
  accountDocument,
  type ScriptedPart,
} from '../../pages/account/account-document.ts';
import { LANGUAGES } from '../../texts/languages.ts';
import { t } from '../../texts/texts.ts';
import { ACCOUNT_PAGES } from './account-pages.ts';

/** The fields of the form that are part of the account. */
export const FIELDS = [
  'username',
  'email',
  'name',
  'first_name',
  'last_name',
  'phone',
  'locale',
  'zoneinfo',
] as const;

export type ProfileModel = {
  frame: AccountFrame;
  form: PageForm;
  /** The stored values, or those entered before; absent and null leave the field empty. */
  values: { readonly [name in (typeof FIELDS)[number]]?: string | null | undefined };
  /** The state of the stored address. */
  email: 'verified' | 'unverified' | 'none';
  asksForPassword: boolean;
  /** The part of the page with the picture. */
  picture: Content;
  /** The page that downloads what is stored about the account. */
  export: string;
  /** The page that deletes the account. */
  deletion: string;
  /** Sends the link that confirms the address again. */
  sendLinkAgain: PageForm;
  problems?: readonly FieldProblem[] | undefined;
  /** Invisible parts, such as scripts. */
  parts?: readonly ScriptedPart[];
};

export function profilePage(model: ProfileModel): string {
  const { problems = [], values, parts = [] } = model;
  const common = (name: (typeof FIELDS)[number]) => ({
    name,
    value: values[name] ?? '',
    problem: problemOf(problems, name),
    autofocus:
      problems.length > 0 && problems.find(({ field: it }) => FIELDS.some((f) => f === it))?.field === name,
  });
  return accountDocument({
    title: t('Profile'),
    failed: problems.length > 0,
    frame: model.frame,
    current: ACCOUNT_PAGES.profile,
    scripts: parts.flatMap(({ scripts }) => scripts),
    body: html`${parts.map(({ content }) => content)}${problemSummary(problems, [...FIELDS, 'current_password'])}
${form(
  model.form,
  html`<fieldset><legend>${t('About you')}</legend>
${field({ ...common('name'), label: t('Name'), hint: t('The name that you want to be called by.'), autocomplete: 'name', required: true })}
<div class="pair">${field({ ...common('first_name'), label: t('First name'), autocomplete: 'given-name' })}
${field({ ...common('last_name'), label: t('Last name'), autocomplete: 'family-name' })}</div>
${field({ ...common('phone'), label: t('Phone'), hint: t('For SMS messages. Start with + and the country code, such as +44 20 7946 0018.'), type: 'tel', autocomplete: 'tel' })}
<div class="pair">${field({ ...common('locale'), label: t('Language'), hint: t('For mails and applications, such as en or de-AT.'), autocomplete: 'language', suggestions: languageNames() })}
${field({ ...common('zoneinfo'), label: t('Time zone'), hint: t('For applications, such as Europe/Berlin.'), autocomplete: 'off', suggestions: TIME_ZONES.map((zone) => [zone]) })}</div>
</fieldset>
<fieldset><legend>${t('Signing in')}</legend>
${field({ ...common('username'), label: t('Username'), autocomplete: 'username', required: true })}
${field({ ...common('email'), label: t('Email'), type: 'email', autocomplete: 'email', required: model.email !== 'none', describedBy: 'email-state' })}
${emailState(model.email)}
${model.asksForPassword && field({ name: 'current_password', label: t('Current password'), hint: t('Required only to change the email address.'), type: 'password', autocomplete: 'current-password', problem: problemOf(problems, 'current_password') })}
</fieldset>
<div class="buttons"><button class="primary">${t('Save')}</button></div>`,
)}
${model.email === 'unverified' && form(model.sendLinkAgain, false, { id: 'send-link-again' })}
${model.picture}
<p class="buttons after-cards"><a class="secondary" href="${model.export}">${t('Download your data')}</a><a class="danger" href="${model.deletion}">${t('Delete your account')}</a></p>`,
  });
}

/** The languages of our mails, each by its name in that language. */
function languageNames(): Suggestions {
  return LANGUAGES.map((tag) => [tag, new Intl.DisplayNames(tag, { type: 'language' }).of(tag)]);
}

function emailState(state: ProfileModel['email']) {
  switch (state) {
    case 'verified':
      return html`<p class="state state-good" id="email-state">${t('Confirmed')}</p>`;
    case 'unverified':
      return html`<div class="state-line"><p class="state state-open" id="email-state">${t('Not confirmed yet. Open the link in our mail to this address, or have another one sent. Until then, you cannot use it to sign in or to get a new password, and we send no other account mails to it.')}</p>
<button class="secondary small" form="send-link-again">${t('Send a confirmation link')}</button></div>`;
    case 'none':
      return html`<p class="state" id="email-state">${t('You have no email address yet. Without an email address, you cannot get a new password.')}</p>`;
  }
}
