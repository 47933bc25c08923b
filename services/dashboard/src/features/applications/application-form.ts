import { form } from '@gatehouse/web/form';
import { type Html, html } from '@gatehouse/web/html';
import type { ApiError } from '../../api/api-error.ts';
import { type AppType, hasSetting } from '../../api/application-types.ts';
import { checkbox, choices, formProblem, textArea, textField } from '../../pages/fields.ts';
import { advancedSettings } from './application-advanced.ts';
import { SCOPES, TYPES } from './application-texts.ts';
import type { ApplicationValues } from './application-values.ts';

const FIELDS = [
  ...['name', 'redirect_uris', 'post_logout_redirect_uris', 'scopes', 'backchannel_logout_uri', 'jwks'],
  ...['dpop_bound_access_tokens', 'require_pushed_authorization_requests', 'id_token_signed_response_alg'],
  ...['legacy_implicit', 'security_profile'],
];

const REDIRECT_HINT: Record<'web' | 'spa' | 'native', string> = {
  web: 'Where people return to after they sign in. Enter one URI per line, with https, or with http on 127.0.0.1 or localhost while you develop. URIs are compared character by character.',
  spa: 'The pages of your application that people return to after they sign in. Enter one URI per line, with https, or with http on 127.0.0.1 or localhost while you develop.',
  native:
    'Enter one URI per line: an https address that opens your application, a scheme of your own such as com.example.app:/callback, or http://127.0.0.1/callback, for which any port is accepted.',
};

/** The form of a new application, or of one that is to be changed. */
export function applicationForm(it: {
  action: string;
  csrf: string;
  type: AppType;
  values: ApplicationValues;
  hidden?: Readonly<Record<string, string>>;
  error?: ApiError | undefined;
  submit: string;
}): Html {
  const { type, values, error } = it;
  const problems = error?.details ?? [];
  const nameHint = hasSetting(type, 'redirect_uris')
    ? 'People see this name when they are asked to sign in.'
    : 'The name appears in lists and in the audit log.';
  return html`${formProblem(error, FIELDS)}
${form(
  { action: it.action, csrf: it.csrf, hidden: { type, ...it.hidden } },
  html`${textField({ name: 'name', label: 'Name', value: values.name, problems, required: true, maxlength: 200, hint: nameHint })}
${type !== 'machine' && type !== 'resource' && addresses(type, values, problems)}
${hasSetting(type, 'scopes') && scopeChoice(type, values.scopes, problems)}
${advancedSettings(type, values, problems)}
<div class="buttons"><button class="primary">${it.submit}</button></div>`,
  { class: 'wide-form' },
)}`;
}

function addresses(
  type: keyof typeof REDIRECT_HINT,
  values: ApplicationValues,
  problems: ApiError['details'],
): Html {
  return html`${textArea({ name: 'redirect_uris', label: 'Redirect URIs', value: values.redirect_uris, rows: 3, problems, required: true, hint: REDIRECT_HINT[type] })}
${textArea({ name: 'post_logout_redirect_uris', label: 'Post-logout redirect URIs', value: values.post_logout_redirect_uris, rows: 2, problems, hint: 'Where people may be sent after they sign out. Enter one URI per line.' })}`;
}

function scopeChoice(type: AppType, chosen: readonly string[], problems: ApiError['details']): Html {
  const asked = type === 'machine' ? '' : 'People are asked to allow these scopes. ';
  return choices(
    {
      ...{ name: 'scopes', label: 'Permissions', problems },
      hint: `The scopes that the application can request. ${asked}Choose only the scopes that it needs. You can add more later. The application never has more permissions than your own role.`,
    },
    SCOPES.filter(({ personal }) => type !== 'machine' || !personal).map(({ name, description }) =>
      checkbox({
        name: 'scopes',
        value: name,
        checked: chosen.includes(name),
        label: html`<code>${name}</code>`,
        hint: description,
      }),
    ),
  );
}

/** The choice of a type, for a new application. */
export function typeChoice(path: string): Html {
  return html`<p>The type decides how people sign in and whether the application has a secret. It cannot be changed later.</p>
<ul class="choices">${(Object.keys(TYPES) as AppType[]).map(
    (type) =>
      html`<li><a class="choice" href="${path}?type=${type}"><strong>${TYPES[type].name}</strong><span>${TYPES[type].description}</span><span class="hint">${TYPES[type].how}</span></a></li>`,
  )}</ul>`;
}
