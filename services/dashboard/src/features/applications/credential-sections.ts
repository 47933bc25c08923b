import { type Content, type Html, html } from '@gatehouse/web/html';
import { type ApiKey, type ApiSecret, type Application, hasSetting } from '../../api/application-types.ts';
import { formProblem } from '../../pages/fields.ts';
import { copyable, exactTime, facts, lastUsed, statusTag } from '../../pages/parts.ts';
import { type Column, table } from '../../pages/table.ts';
import type { PartView } from '../../resources/resource.ts';
import { type FormRow, initialValues, resourceForm, sentValues } from '../../resources/resource-form.ts';
import { SCOPES } from './application-texts.ts';
import { SNIPPETS, sampleOf, snippetView } from './quick-start/snippets.ts';

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
      'Send the key as “Authorization: ApiKey …” or “Authorization: Bearer …”. It is shown only once. If you lose the key, create another.',
  },
  rotated_key: {
    title: 'Your replacement API key',
    advice: 'Put this key in place before the old one expires. It is shown only once.',
  },
};

/** A new credential with programs that use it, and a secret with the client ID that it goes with; `at` tells it from others on the page. */
export function newCredential(
  { kind, text }: NewCredential,
  at: number,
  { application, publicUrl }: { application: Application; publicUrl: string },
): Html {
  const id = at === 0 ? 'new-credential' : `new-credential-${at}`;
  const snippets = SNIPPETS[kind === 'secret' ? application.type : 'api_key'];
  const sample = sampleOf(publicUrl, application, text);
  const shown =
    kind === 'secret'
      ? facts([
          ['Client ID', copyable(`${id}-client`, application.client_id)],
          ['Client secret', copyable(id, text)],
        ])
      : copyable(id, text);
  return html`<section class="panel new-secret" role="status"><h2>${NEW[kind].title}</h2>${shown}<p>${NEW[kind].advice}${kind === 'secret' && html` The <a href="/dashboard/applications/${encodeURIComponent(application.client_id)}/quick-start">quick start</a> shows how to use it.`}</p>
<details><summary>Try the ${kind === 'secret' ? 'secret' : 'key'} now</summary><p>This code contains the ${kind === 'secret' ? 'secret' : 'key'}: run it, but do not save it with your own code.</p>
${snippets.map((snippet, i) => html`<details class="nested"${i === 0 && html` open`}><summary>${snippet.title}</summary>${snippetView(`${id}-${snippet.id}`, snippet, sample)}</details>`)}</details></section>`;
}

/** The last characters, which tell a secret or key from others; empty for one of the operator. */
export function lastCharacters({ last_four: lastFour }: Pick<ApiSecret, 'last_four'>): Content {
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

const SECRET_FIELDS: readonly FormRow[] = [
  {
    name: 'label',
    label: 'Label of the new secret',
    maxlength: 200,
    hint: 'Where it is used, such as “web server 1”.',
  },
  { name: 'expires_in', label: 'Lifetime', required: true, options: LIFETIMES },
];

/** The content of a section of the page; `fresh` are the new credentials, which are shown only once. */
type Credentials = {
  page: PartView<Application>;
  fresh: readonly NewCredential[];
  /** Whether the person may create and remove them, as viewers of the application may not. */
  canChange: boolean;
  /** The names of the members who made credentials, by the ids of these. */
  makers: ReadonlyMap<string, string>;
};

/** The time at which a credential was made, and the member who made it. */
function createdBy(
  { id, created_at: at }: Pick<ApiKey, 'id' | 'created_at'>,
  makers: Credentials['makers'],
): Html {
  const maker = makers.get(id);
  return html`${exactTime(at)}${maker !== undefined && html` <span class="hint">by <bdi>${maker}</bdi></span>`}`;
}

/** The form of a new credential, which the action of this name makes. */
function newForm(
  { page: { path, visit, refused } }: Credentials,
  it: { action: string; rows: readonly FormRow[]; submit: string; inline?: boolean },
): Html {
  const { action, rows } = it;
  const sent = refused?.action === action ? refused : undefined;
  return resourceForm({
    ...it,
    target: { action: `${path}/${action}`, csrf: visit.csrf },
    values: sent === undefined ? initialValues(rows, visit) : sentValues(rows, sent.fields),
    error: sent?.error,
  });
}

/** The client secrets: two can be valid at once, so that one can replace the other. */
export function secretSection(it: Credentials & { secrets: readonly ApiSecret[] }): Html {
  const { secrets, fresh, canChange, makers } = it;
  const { value, path, refused } = it.page;
  if (value.token_endpoint_auth_method === 'private_key_jwt') {
    return html`<section><h2>Public keys</h2><p>The application authenticates with assertions that it signs with its own key. It has no client secret. Its public keys are in its <a href="${path}#jwks">settings</a>.</p></section>`;
  }
  const columns: Column<ApiSecret>[] = [
    {
      title: 'Secret',
      show: (secret) =>
        html`${secret.label !== null && html`<bdi>${secret.label}</bdi> `}${secret.last_four === null ? html`ID <code>${secret.id}</code>` : lastCharacters(secret)}${newTag(secret, fresh)}`,
    },
    { title: 'Created', show: (it) => createdBy(it, makers) },
    { title: 'Expires', show: ({ expires_at: at }) => exactTime(at, 'never') },
    { title: 'Last used', show: (secret) => lastUsed(secret) },
    ...only<ApiSecret>(canChange, {
      title: 'Remove',
      show: ({ id, label, last_four: lastFour }) =>
        html`<a class="button danger" href="${`${path}/credentials/secrets/${encodeURIComponent(id)}/remove`}" aria-label="${`Remove secret ${label ?? lastFour ?? id}`}">Remove</a>`,
    }),
  ];
  return html`<section><h2>Client secrets</h2>
<p>An application can have two secrets at once. To replace a secret without a failed request, add a second one and put it in place. Remove the old secret when its “Last used” no longer changes.</p>
${secrets.length === 0 ? html`<p class="empty">There is no client secret. Add a secret so that the application can get tokens.</p>` : table(columns, secrets)}
${canChange && secrets.length < 2 ? newForm(it, { action: 'credentials/secrets', rows: SECRET_FIELDS, submit: 'Add a secret', inline: true }) : formProblem(refused?.error)}</section>`;
}

/** The API keys, with which the application calls without asking for tokens. */
export function keySection(it: Credentials & { keys: readonly ApiKey[] }): Html | false {
  const { keys, fresh, canChange, makers } = it;
  const { value, path, refused } = it.page;
  if (!hasSetting(value.type, 'scopes')) return false;
  if (value.dpop_bound_access_tokens) {
    return html`<section><h2>API keys</h2><p class="empty">The access tokens of this application are bound to a key (DPoP). It cannot have API keys, because API keys work without a proof of possession.</p></section>`;
  }
  const action = 'credentials/keys';
  const columns: Column<ApiKey>[] = [
    {
      title: 'Name',
      show: (key) =>
        html`<bdi>${key.name}</bdi> ${key.rotated_to !== null && statusTag('replaced')}${newTag(key, fresh)}<br><code>${key.prefix}…${key.last_four}</code>`,
    },
    { title: 'Scopes', show: ({ scopes }) => scopes.join(' ') },
    { title: 'Created', show: (it) => createdBy(it, makers) },
    { title: 'Expires', show: ({ expires_at: at }) => exactTime(at, 'never') },
    { title: 'Last used', show: (key) => lastUsed(key) },
    ...only<ApiKey>(canChange, { title: 'Change', show: (key) => keyLinks(key, `${path}/${action}`) }),
  ];
  const offered = SCOPES.filter(({ name, personal }) => !personal && value.scopes.includes(name));
  const rows: readonly FormRow[] = [
    {
      name: 'name',
      label: 'Name',
      required: true,
      maxlength: 200,
      hint: 'Where the key is used, such as “nightly export”.',
    },
    {
      name: 'scopes',
      label: 'Scopes',
      kind: 'several',
      options: offered.map(({ name, description }) => [name, description]),
    },
    // Beside the field `expires_in` of a secret.
    { name: 'key_expires_in', label: 'Lifetime', required: true, options: LIFETIMES },
  ];
  return html`<section><h2>API keys</h2>
<p>With an API key, a program calls the API as the application, without tokens. Create a key for each place that uses one, so that you can revoke each key separately. A key is shown only once, when it is created. If you lost it, rotate it.</p>
${keys.length === 0 ? html`<p class="empty">There is no API key yet.</p>` : table(columns, keys)}
${
  canChange &&
  (offered.length === 0
    ? html`<p class="hint">A key needs a scope such as <code>read:data</code>. Add a scope to the application in its settings first.</p>`
    : html`<details class="panel"${refused?.action === action && html` open`}><summary>New API key</summary>
${newForm(it, { action, rows, submit: 'Create API key' })}</details>`)
}</section>`;
}

/** A column that only some people see. */
function only<T>(isSeen: boolean, column: Column<T>): Column<T>[] {
  return isSeen ? [column] : [];
}

function keyLinks({ id, name, rotated_to: next }: ApiKey, action: string): Html {
  const path = `${action}/${encodeURIComponent(id)}`;
  return html`<div class="row-buttons">${next === null && html`<a class="button secondary" href="${path}/rotate" aria-label="${`Rotate ${name}`}">Rotate</a>`}<a class="button danger" href="${path}/revoke" aria-label="${`Revoke ${name}`}">Revoke</a></div>`;
}
