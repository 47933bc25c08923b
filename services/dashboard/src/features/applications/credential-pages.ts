import { form } from '@gatehouse/web/form';
import { type Content, type Html, html } from '@gatehouse/web/html';
import type { ApiError } from '../../api/api-error.ts';
import { type ApiApplication, type ApiKey, type ApiSecret, hasSetting } from '../../api/application-types.ts';
import { checkbox, choices, formProblem, selectField, textField } from '../../pages/fields.ts';
import { type Column, table } from '../../pages/list.ts';
import { copyable, exactTime, facts, lastUsed, statusTag } from '../../pages/parts.ts';
import { SCOPES } from './application-texts.ts';

/** A secret or key that has just been made, with what to do with it. */
export type NewCredential = { kind: 'secret' | 'key' | 'rotated_key'; text: string };

const LIFETIMES = [
  ['never', 'Never expires'],
  ['2592000', '30 days'],
  ['7776000', '90 days'],
  ['31536000', 'One year'],
] as const;
/** For how many seconds a key still works after its rotation. */
export const OVERLAPS = [
  ['86400', 'One day'],
  ['3600', 'One hour'],
  ['604800', 'One week'],
  ['0', 'No time: the old key stops working at once'],
] as const;

const NEW: Record<NewCredential['kind'], { title: string; advice: string }> = {
  secret: {
    title: 'Your new client secret',
    advice:
      'Copy the secret into the settings of your server. Never put it into code or a browser. It is shown only once. If you lose the secret, add another.',
  },
  key: {
    title: 'Your new API key',
    advice:
      'Send the key as “Authorization: Bearer …”. It is shown only once. If you lose the key, create another.',
  },
  rotated_key: {
    title: 'Your replacement API key',
    advice: 'Put this key in place before the old one expires. It is shown only once.',
  },
};

/** A new credential, and a secret with the client ID that it goes with; `at` tells it from others on the page. */
export function newCredential({ kind, text }: NewCredential, at: number, clientId: string): Html {
  const id = at === 0 ? 'new-credential' : `new-credential-${at}`;
  const shown =
    kind === 'secret'
      ? facts([
          ['Client ID', copyable(`${id}-client`, clientId)],
          ['Client secret', copyable(id, text)],
        ])
      : copyable(id, text);
  return html`<section class="panel new-secret" role="status"><h2>${NEW[kind].title}</h2>${shown}<p>${NEW[kind].advice}</p></section>`;
}

/** By what a secret or key can be told from others; empty for one of an earlier version. */
export function ending({ last_four: lastFour }: Pick<ApiSecret, 'last_four'>): Content {
  return lastFour !== null && html`<code dir="ltr">…${lastFour}</code>`;
}

/** Marks the row of what has just been shown. */
function newTag(
  { last_four: lastFour }: Pick<ApiSecret, 'last_four'>,
  fresh: readonly NewCredential[],
): Content {
  const isNew = lastFour !== null && fresh.some(({ text }) => text.endsWith(lastFour));
  return isNew && html` <span class="tag">New</span>`;
}

/** The client secrets: two can be valid at once, so that one can replace the other. */
export function secretSection(it: {
  application: ApiApplication;
  secrets: readonly ApiSecret[];
  /** What is shown on this page for the only time. */
  fresh: readonly NewCredential[];
  action: string;
  csrf: string;
  error?: ApiError | undefined;
  /** What was entered before. */
  label?: string | undefined;
}): Html {
  const { application, secrets, action, csrf, error, fresh } = it;
  if (application.token_endpoint_auth_method === 'private_key_jwt') {
    return html`<section><h2>Public keys</h2><p>The application authenticates with assertions that it signs with its own key. It has no client secret. Its public keys are in its <a href="${`/dashboard/applications/${encodeURIComponent(application.client_id)}#jwks`}">settings</a>.</p></section>`;
  }
  const columns: Column<ApiSecret>[] = [
    {
      title: 'Secret',
      show: (it) =>
        html`${it.label !== null && html`<bdi>${it.label}</bdi> `}${it.last_four === null ? html`<code>${it.id}</code>` : ending(it)}${newTag(it, fresh)}`,
    },
    { title: 'Created', show: ({ created_at: at }) => exactTime(at) },
    { title: 'Expires', show: ({ expires_at: at }) => exactTime(at, 'never') },
    { title: 'Last used', show: (it) => lastUsed(it) },
    {
      title: 'Remove',
      show: ({ id, label, last_four: lastFour }) =>
        html`<a class="button danger" href="${`${action}/secrets/${encodeURIComponent(id)}/remove`}" aria-label="${`Remove secret ${label ?? lastFour ?? id}`}">Remove</a>`,
    },
  ];
  return html`<section><h2>Client secrets</h2>
<p>An application can have two secrets at once. To replace a secret without a failed request, add a second one and put it in place. Remove the old secret when its “Last used” no longer changes.</p>
${secrets.length === 0 ? html`<p class="empty">There is no client secret. Add a secret so that the application can get tokens.</p>` : table(columns, secrets)}
${formProblem(error, ['label', 'expires_in'])}
${
  secrets.length < 2 &&
  form(
    { action: `${action}/secrets`, csrf },
    html`${textField({ name: 'label', label: 'Label of the new secret', value: it.label ?? '', maxlength: 200, hint: 'Where it is used, such as “web server 1”.', problems: error?.details ?? [] })}${selectField({ name: 'expires_in', label: 'Lifetime', required: true, options: LIFETIMES })}<div class="buttons"><button class="primary">Add a secret</button></div>`,
    { class: 'inline-form' },
  )
}</section>`;
}

/** The API keys, with which the application calls without asking for tokens. */
export function keySection(it: {
  application: ApiApplication;
  keys: readonly ApiKey[];
  fresh: readonly NewCredential[];
  action: string;
  csrf: string;
  error?: ApiError | undefined;
  values?: { name: string; scopes: readonly string[] };
}): Html | false {
  const { application, keys, action, csrf, error, values, fresh } = it;
  const columns: Column<ApiKey>[] = [
    {
      title: 'Name',
      show: (it) =>
        html`<bdi>${it.name}</bdi> ${it.rotated_to !== null && statusTag('replaced')}${newTag(it, fresh)}<br><code>${it.prefix}…${it.last_four}</code>`,
    },
    { title: 'Scopes', show: ({ scopes }) => scopes.join(' ') },
    { title: 'Created', show: ({ created_at: at }) => exactTime(at) },
    { title: 'Expires', show: ({ expires_at: at }) => exactTime(at, 'never') },
    { title: 'Last used', show: (it) => lastUsed(it) },
    { title: 'Change', show: (key) => keyLinks(key, action) },
  ];
  const offered = SCOPES.filter(({ name, personal }) => !personal && application.scopes.includes(name));
  if (!hasSetting(application.type, 'scopes')) return false;
  if (application.dpop_bound_access_tokens) {
    return html`<section><h2>API keys</h2><p class="empty">The access tokens of this application are bound to a key (DPoP). It cannot have API keys, because API keys work without a proof of possession.</p></section>`;
  }
  return html`<section><h2>API keys</h2>
<p>With an API key, a program calls the API as the application, without tokens. Create a key for each place that uses one, so that you can revoke each key separately.</p>
${keys.length === 0 ? html`<p class="empty">There is no API key yet.</p>` : table(columns, keys)}
${
  offered.length === 0
    ? html`<p class="hint">A key needs a scope such as <code>read:data</code>. Add a scope to the application in its settings first.</p>`
    : html`<details class="panel"${error !== undefined && html` open`}><summary>New API key</summary>
${formProblem(error, ['name', 'scopes', 'key_expires_in'])}
${form(
  { action: `${action}/keys`, csrf },
  html`${textField({ name: 'name', label: 'Name', value: values?.name ?? '', required: true, maxlength: 200, hint: 'Where the key is used, such as “nightly export”.', problems: error?.details ?? [] })}
${choices(
  { name: 'scopes', label: 'Scopes', problems: error?.details ?? [] },
  offered.map(({ name, description }) =>
    checkbox({
      name: 'scopes',
      value: name,
      checked: values?.scopes.includes(name) ?? false,
      label: html`<code>${name}</code>`,
      hint: description,
    }),
  ),
)}
${selectField({ name: 'key_expires_in', label: 'Lifetime', required: true, options: LIFETIMES })}
<div class="buttons"><button class="primary">Create API key</button></div>`,
  { class: 'wide-form' },
)}</details>`
}</section>`;
}

function keyLinks({ id, name, rotated_to: next }: ApiKey, action: string): Html {
  const path = `${action}/keys/${encodeURIComponent(id)}`;
  return html`<div class="row-buttons">${next === null && html`<a class="button secondary" href="${path}/rotate" aria-label="${`Rotate ${name}`}">Rotate</a>`}<a class="button danger" href="${path}/revoke" aria-label="${`Revoke ${name}`}">Revoke</a></div>`;
}
