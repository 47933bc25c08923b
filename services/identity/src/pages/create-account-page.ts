import type { FieldProblem } from '@gatehouse/core/errors';
import { brand } from '@gatehouse/web/brand';
import { field, form, type PageForm, problemOf, problemSummary } from '@gatehouse/web/form';
import { type Content, html } from '@gatehouse/web/html';
import { t } from '../texts/texts.ts';
import { standalonePage } from './document.ts';
import { type RequestingApplication, requestingApplication } from './requesting-application.ts';

export type CreateAccountModel = {
  form: PageForm;
  application?: RequestingApplication | undefined;
  /** The values that were entered before; never the password. */
  values?: { username?: string; email?: string; name?: string } | undefined;
  /** Problems with other fields than those of the form are only in the summary. */
  problems?: readonly FieldProblem[] | undefined;
  /** The address that was invited, which is not asked for, the role of the account, and a role in an application. */
  invited?: {
    email: string;
    role: string;
    application?: { name: string } | undefined;
    membership?: { role: string } | undefined;
  };
  links: { signIn: string };
  /** Ways to create an account without a password, each a part of the form. */
  methods: readonly Content[];
  scripts: readonly string[];
};

const FIELDS = ['username', 'email', 'name', 'password'];

export function createAccountPage(model: CreateAccountModel): string {
  const { application, values = {}, problems = [], invited } = model;
  const focused = FIELDS.find((name) => problemOf(problems, name) !== undefined) ?? 'username';
  const common = (name: string) => ({
    name,
    problem: problemOf(problems, name),
    autofocus: focused === name,
  });
  return standalonePage({
    application,
    title: t('Create an account'),
    failed: problems.length > 0,
    scripts: model.scripts,
    body: html`${invited === undefined ? html`<p class="before-asking">${t('to continue to')}</p>${requestingApplication(application)}` : invitationText(invited)}
${problemSummary(problems, FIELDS)}
${form(
  model.form,
  html`${field({ ...common('username'), label: t('Username'), hint: t('3 to 64 letters, digits, dots, underscores, plus signs and hyphens.'), value: values.username, autocomplete: 'username', required: true })}
${invited === undefined && field({ ...common('email'), label: t('Email'), hint: t('We will send you a link to confirm the address.'), type: 'email', value: values.email, autocomplete: 'email', required: true })}
${field({ ...common('name'), label: t('Name'), hint: t('The name that you want to be called by.'), value: values.name, autocomplete: 'name' })}
${model.methods}
<div data-password-part>${field({ ...common('password'), label: t('Password'), hint: t('At least 8 characters. A few random words make a good password.'), type: 'password', autocomplete: 'new-password', minlength: 8, required: true })}
<div class="buttons"><button class="primary">${t('Create account')}</button></div></div>`,
)}
<ul class="ways"><li>${t('Already have an account?')} <a href="${model.links.signIn}">${t('Sign in')}</a></li></ul>`,
  });
}

function invitationText({
  email,
  role,
  application,
  membership,
}: NonNullable<CreateAccountModel['invited']>) {
  const strong = (text: string) => html`<strong><bdi>${text}</bdi></strong>`;
  return html`<p>${t('You are invited to {product} with the address {email}.', { product: brand().name, email: strong(email) })}</p>
${role !== 'user' && html`<p>${t('Your account will have the role {role}.', { role: strong(role) })}</p>`}
${application && html`<p>${t('You will be a member of the application {application}, with the role {role}.', { application: strong(application.name), role: strong(membership?.role ?? '') })}</p>`}`;
}
