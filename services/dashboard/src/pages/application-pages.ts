import { form, type PageForm } from '@gatehouse/ui/form';
import { type Content, type Html, html } from '@gatehouse/ui/html';
import type { ApiError } from '../api/api-error.ts';
import type { ApiApplication } from '../api/application-types.ts';
import { hasSetting, isConfidential } from '../api/application-types.ts';
import type { Fields } from '../http/forms.ts';
import { PINS, TYPES } from './application-texts.ts';
import { checkbox, formProblem, textField } from './fields.ts';
import { copyable, facts, lastUsed, tabs, time } from './parts.ts';
import type { View } from './view.ts';

/** A page of one application, with links to its others. */
export function applicationView(
  application: ApiApplication,
  page: { path: string; body: Content; notice?: string | undefined; failed?: boolean; charts?: boolean },
): View {
  const base = `/dashboard/applications/${encodeURIComponent(application.client_id)}`;
  return {
    title: application.name,
    section: 'applications',
    trail: [{ href: '/dashboard/applications', title: 'Applications' }],
    notice: page.notice,
    failed: page.failed ?? false,
    charts: page.charts ?? false,
    body: html`${tabs('This application', base + page.path, [
      [base, 'Settings'],
      [`${base}/credentials`, 'Credentials'],
      [`${base}/quick-start`, 'Quick start'],
      [`${base}/usage`, 'Usage'],
      ...(hasSetting(application.type, 'scopes') ? ([[`${base}/profiles`, 'API profiles']] as const) : []),
    ])}
${page.body}`,
  };
}

/** What an application is; `owner` is who that is, in words. */
export function applicationFacts(application: ApiApplication, owner: Content): Html {
  const { client_id: id, type, created_at: created } = application;
  return html`<section class="panel">${facts([
    ['Client ID', copyable('client-id', id)],
    ['Type', TYPES[type].name],
    ['Authenticates by', authentication(application)],
    ['Owner', owner],
    ['Created', time(created)],
    ['Last used', lastUsed(application, 'never, as far as is known')],
  ])}</section>`;
}

function authentication(application: ApiApplication): string {
  if (!isConfidential(application)) return 'PKCE; it has no secret';
  return application.token_endpoint_auth_method === 'private_key_jwt'
    ? 'a signed assertion (private_key_jwt)'
    : 'a client secret';
}

/** The choice of profiles, with the shapes side by side. */
export function profileForm(it: {
  target: PageForm;
  pinned: Readonly<Record<string, string>>;
  error?: ApiError | undefined;
}): Html {
  return html`<p>Some paths answer in several shapes, called profiles. Without a pin, the request decides, and then the deployment’s default. Pin the shape that your code expects, and nothing can change it. Tokens take over a pin when they are issued, API keys within a minute.</p>
${formProblem(it.error, [])}
${form(
  it.target,
  html`${Object.entries(PINS).map(
    ([pin, { path, what, profiles }]) => html`<fieldset><legend>${path}</legend><p class="hint">${what}</p>
${checkbox({ type: 'radio', name: pin, value: '', checked: it.pinned[pin] === undefined, label: 'No pin', hint: 'The request decides, and then the default of the deployment.' })}
<div class="shapes">${Object.entries(profiles).map(
      ([name, { title, shape }]) =>
        html`<div class="shape">${checkbox({ type: 'radio', name: pin, value: name, checked: it.pinned[pin] === name, label: title })}<pre tabindex="0" aria-label="${`The shape of ${title}`}"><code>${shape}</code></pre></div>`,
    )}</div></fieldset>`,
  )}
<div class="buttons"><button class="primary">Save</button></div>`,
)}`;
}

/** Whether the form has the name of what is to be deleted. White space is left out: nobody sees which, and how much. */
export function isConfirmed(fields: Fields, name: string): boolean {
  const visible = (text: string) => text.replaceAll(/\s/g, '');
  return visible(fields.text('confirmation')) === visible(name);
}

/** Deleting something by typing its name. */
export function deleteForm(it: {
  action: string;
  csrf: string;
  name: string;
  what: string;
  consequence: string;
  wrong?: boolean;
}): Html {
  return html`<section class="panel danger-zone"><h2>Delete this ${it.what}</h2><p>${it.consequence}</p>
${form(
  { action: it.action, csrf: it.csrf },
  html`${textField({
    name: 'confirmation',
    label: 'Its name',
    required: true,
    hint: html`Type <strong><bdi class="as-typed">${it.name}</bdi></strong> to confirm.`,
    problems: it.wrong ? [{ field: 'confirmation', message: 'This is not its name.' }] : [],
  })}
<div class="buttons"><button class="danger">Delete ${it.what}</button></div>`,
  { class: 'wide-form' },
)}</section>`;
}
