import { form } from '@gatehouse/ui/form';
import { type Html, html } from '@gatehouse/ui/html';
import type { ApiError } from '../api/api-error.ts';
import { type ApiApplication, type ApiKey, type ApiSecret, hasSetting } from '../api/application-types.ts';
import { SCOPES } from './application-texts.ts';
import { checkbox, formProblem, selectField, textField } from './fields.ts';
import { type Column, table } from './list.ts';
import { codeBlock, lastUsed, statusTag, time } from './parts.ts';

/** A secret or key that has just been made, with what to do with it. */
export type NewCredential = { kind: 'secret' | 'key' | 'rotated_key'; text: string };

const LIFETIMES = [
  ['never', 'It does not expire'],
  ['2592000', '30 days'],
  ['7776000', '90 days'],
  ['31536000', 'One year'],
] as const;
const OVERLAPS = [
  ['3600', 'One hour'],
  ['86400', 'One day'],
  ['604800', 'One week'],
  ['0', 'Not at all'],
] as const;

const NEW: Record<NewCredential['kind'], { title: string; advice: string }> = {
  secret: {
    title: 'Your new client secret',
    advice:
      'Keep it where your server reads its settings, never in code or in a browser. It is shown this once; if it is lost, make another.',
  },
  key: {
    title: 'Your new API key',
    advice: 'Send it as “Authorization: Bearer …”. It is shown this once; if it is lost, make another.',
  },
  rotated_key: {
    title: 'The API key that replaces the old one',
    advice: 'Both work for now. Put this one in place before the old one expires. It is shown this once.',
  },
};

/** A new credential; `at` tells it from others on the page. */
export function newCredential({ kind, text }: NewCredential, at: number): Html {
  const id = at === 0 ? 'new-credential' : `new-credential-${at}`;
  return html`<section class="panel new-secret" role="status"><h2>${NEW[kind].title}</h2>${codeBlock(id, text)}<p>${NEW[kind].advice}</p></section>`;
}

/** The client secrets: two can be valid at once, so that one can replace the other. */
export function secretSection(it: {
  application: ApiApplication;
  secrets: readonly ApiSecret[];
  action: string;
  csrf: string;
  error?: ApiError | undefined;
}): Html {
  const { application, secrets, action, csrf, error } = it;
  if (application.token_endpoint_auth_method === 'private_key_jwt') {
    return html`<section><h2>Public keys</h2><p>The application authenticates by assertions that it signs with a key of its own, so that it has no client secret. Its public keys are in its <a href="${`/dashboard/applications/${encodeURIComponent(application.client_id)}#jwks`}">settings</a>.</p></section>`;
  }
  const columns: Column<ApiSecret>[] = [
    { title: 'Secret', show: ({ id }) => html`<code>${id}</code>` },
    { title: 'Created', show: ({ created_at: at }) => time(at) },
    { title: 'Expires', show: ({ expires_at: at }) => time(at, 'never') },
    { title: 'Last used', show: (it) => lastUsed(it) },
    {
      title: 'Remove',
      show: ({ id }) =>
        form(
          { action: `${action}/secrets/remove`, csrf, hidden: { id } },
          html`<button class="danger" aria-label="${`Remove secret ${id}`}">Remove</button>`,
        ),
    },
  ];
  return html`<section><h2>Client secrets</h2>
<p>An application can have two at once. To replace one without a failed request: add a second, put it in place, and when “Last used” of the old one no longer changes, remove it.</p>
${secrets.length === 0 ? html`<p class="empty">There is no secret: the application cannot get tokens with one.</p>` : table(columns, secrets)}
${formProblem(error, ['expires_in'])}
${
  secrets.length < 2 &&
  form(
    { action: `${action}/secrets`, csrf },
    html`${selectField({ name: 'expires_in', label: 'Lifetime of the new secret', required: true, options: LIFETIMES })}<div class="buttons"><button class="primary">Add a secret</button></div>`,
    { class: 'inline-form' },
  )
}</section>`;
}

/** The API keys, with which the application calls without asking for tokens. */
export function keySection(it: {
  application: ApiApplication;
  keys: readonly ApiKey[];
  action: string;
  csrf: string;
  error?: ApiError | undefined;
  values?: { name: string; scopes: readonly string[] };
}): Html | false {
  const { application, keys, action, csrf, error, values } = it;
  const columns: Column<ApiKey>[] = [
    {
      title: 'Name',
      show: ({ name, prefix, rotated_to: next }) =>
        html`<bdi>${name}</bdi> ${next !== null && statusTag('replaced')}<br><code>${prefix}…</code>`,
    },
    { title: 'Scopes', show: ({ scopes }) => scopes.join(' ') },
    { title: 'Created', show: ({ created_at: at }) => time(at) },
    { title: 'Expires', show: ({ expires_at: at }) => time(at, 'never') },
    { title: 'Last used', show: (it) => lastUsed(it) },
    { title: 'Change', show: (key) => keyButtons(key, action, csrf) },
  ];
  const offered = SCOPES.filter(({ name, personal }) => !personal && application.scopes.includes(name));
  if (!hasSetting(application.type, 'scopes')) return false;
  return html`<section><h2>API keys</h2>
<p>A key calls the API without tokens, as the application itself. Give each place that uses one its own, so that you can revoke it alone.</p>
${keys.length === 0 ? html`<p class="empty">There is no API key yet.</p>` : table(columns, keys)}
${
  offered.length === 0
    ? html`<p class="hint">A key needs a scope such as <code>read:data</code>. Give the application one in its settings first.</p>`
    : html`<details class="panel"${error !== undefined && html` open`}><summary>New API key</summary>
${formProblem(error, ['name', 'scopes', 'key_expires_in'])}
${form(
  { action: `${action}/keys`, csrf },
  html`${textField({ name: 'name', label: 'Name', value: values?.name ?? '', required: true, maxlength: 200, hint: 'What it is for, such as “nightly export”.', problems: error?.details ?? [] })}
<fieldset id="scopes"><legend>Scopes</legend><div class="checks">${offered.map(({ name, what }) =>
    checkbox({
      name: 'scopes',
      value: name,
      checked: values?.scopes.includes(name) ?? false,
      label: html`<code>${name}</code>`,
      hint: what,
    }),
  )}</div></fieldset>
${selectField({ name: 'key_expires_in', label: 'Lifetime', required: true, options: LIFETIMES })}
<div class="buttons"><button class="primary">Create API key</button></div>`,
  { class: 'wide-form' },
)}</details>`
}</section>`;
}

function keyButtons({ id, name, rotated_to: next }: ApiKey, action: string, csrf: string): Html {
  return html`<div class="row-buttons">${
    next === null &&
    html`<details><summary aria-label="${`Rotate ${name}`}">Rotate</summary>${form(
      { action: `${action}/keys/rotate`, csrf, hidden: { id } },
      html`<div class="field"><label for="${`overlap-${id}`}">The old key works on for</label><select id="${`overlap-${id}`}" name="overlap">${OVERLAPS.map(([value, text]) => html`<option value="${value}">${text}</option>`)}</select></div><button class="secondary">Rotate</button>`,
    )}</details>`
  }${form(
    { action: `${action}/keys/revoke`, csrf, hidden: { id } },
    html`<button class="danger" aria-label="${`Revoke ${name}`}">Revoke</button>`,
  )}</div>`;
}
