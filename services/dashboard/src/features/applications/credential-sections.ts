import { type Content, type Html, html } from '@gatehouse/web/html';
import {
  type ApiKey,
  type ApiSecret,
  type Application,
  type FederatedCredential,
  hasSetting,
} from '../../api/application-types.ts';
import { formProblem } from '../../pages/fields.ts';
import { copyable, exactTime, facts, lastUsed, shownOnce, statusTag } from '../../pages/parts.ts';
import { type Column, table } from '../../pages/table.ts';
import type { PartView } from '../../resources/resource.ts';
import { type FormRow, initialValues, resourceForm, sentValues } from '../../resources/resource-form.ts';
import { SCOPES } from './application-texts.ts';
import { SNIPPETS, sampleOf, snippetView } from './quick-start/snippets.ts';

/** A secret or key that has just been made, with what to do with it. */
export type NewCredential = { kind: 'secret' | 'rotated_secret' | 'key' | 'rotated_key'; text: string };

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
      'Copy it into the settings of your server. Never put it into code or a browser. If you lose the secret, rotate it.',
  },
  rotated_secret: {
    title: 'Your replacement client secret',
    advice:
      'Copy it into the settings of your server. Remove the old secret when its “Last used” no longer changes.',
  },
  key: {
    title: 'Your new API key',
    advice:
      'Copy it into the settings of your program, which sends it as “Authorization: Bearer …” or “Authorization: ApiKey …”. If you lose the key, rotate it.',
  },
  rotated_key: {
    title: 'Your replacement API key',
    advice: 'Copy it into the settings of your program before the old key expires.',
  },
};

/** A new credential with programs that use it, and a secret with the client ID that it goes with; `at` tells it from others on the page. */
export function newCredential(
  { kind, text }: NewCredential,
  at: number,
  { application, publicUrl }: { application: Application; publicUrl: string },
): Html {
  const id = at === 0 ? 'new-credential' : `new-credential-${at}`;
  const isSecret = kind.endsWith('secret');
  const snippets = SNIPPETS[isSecret ? application.type : 'api_key'];
  const sample = sampleOf(publicUrl, application, text);
  const quickStart = `/dashboard/applications/${encodeURIComponent(application.client_id)}/quick-start`;
  const guide = isSecret
    ? html`<a href="${quickStart}">quick start</a>`
    : html`<a href="/docs/guides/applications#api-keys">guide</a>`;
  const noun = isSecret ? 'secret' : 'key';
  return shownOnce({
    title: NEW[kind].title,
    shown: facts([
      ['Client ID', isSecret && copyable(`${id}-client`, application.client_id)],
      [isSecret ? 'Client secret' : 'API key', copyable(id, text)],
    ]),
    next: html`${NEW[kind].advice} The ${guide} shows how to use it.`,
    more: html`<details><summary>Try the ${noun} now</summary><p>This code contains the ${noun}: run it, but do not save it with your own code.</p>
${snippets.map((snippet, i) => html`<details class="nested"${i === 0 && html` open`}><summary>${snippet.title}</summary>${snippetView(`${id}-${snippet.id}`, snippet, sample)}</details>`)}</details>`,
  });
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

/** The lifetime of a secret, for its creation and its rotation. */
export const SECRET_LIFETIME = {
  name: 'expires_in',
  label: 'Lifetime',
  required: true,
  options: LIFETIMES,
} as const;

const SECRET_FIELDS: readonly FormRow[] = [
  {
    name: 'label',
    label: 'Name',
    maxlength: 200,
    hint: 'Where the secret is used, such as “web server 1”.',
  },
  SECRET_LIFETIME,
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

/** The form of a new credential, which the action of this name makes: folded until it is needed. */
export function newForm(
  { page: { path, visit, refused } }: Pick<Credentials, 'page'>,
  it: { noun: string; action: string; rows: readonly FormRow[]; isNext?: boolean },
): Html {
  const { noun, action, rows, isNext = false } = it;
  const sent = refused?.action === action ? refused : undefined;
  return html`<details class="panel"${(isNext || sent !== undefined) && html` open`}><summary>New ${noun}</summary>
${resourceForm({
  rows,
  submit: `Create ${noun}`,
  target: { action: `${path}/${action}`, csrf: visit.csrf },
  values: sent === undefined ? initialValues(rows, visit) : sentValues(rows, sent.fields),
  error: sent?.error,
})}</details>`;
}

/** The client secrets: two can be valid at once, so that one can replace the other. */
export function secretSection(
  it: Credentials & { secrets: readonly ApiSecret[]; federated: readonly FederatedCredential[] },
): Html {
  const { secrets, federated, fresh, canChange, makers } = it;
  const { value, path, refused } = it.page;
  const action = 'credentials/secrets';
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
    { title: 'Last used', show: (secret) => html`${lastUsed(secret)}${replacedHint(secret, federated)}` },
    ...only<ApiSecret>(canChange, {
      title: 'Change',
      show: ({ id, label, last_four: lastFour }) =>
        changeLinks(`${path}/${action}/${encodeURIComponent(id)}`, {
          ...{ name: `secret ${label ?? lastFour ?? id}`, rotates: true, end: 'Remove' },
        }),
    }),
  ];
  return html`<section><h2>Client secrets</h2>
<p>An application can have two secrets at once. To replace a secret without a failed request, rotate it and put the new one in place. Remove the old secret when its “Last used” no longer changes.</p>
${secrets.length === 0 ? html`<p class="empty">There is no client secret. ${federated.length === 0 ? 'Create a secret so that the application can get tokens.' : 'The application signs in with its federated credentials.'}</p>` : table(columns, secrets)}
${canChange && (secrets.length < 2 ? newForm(it, { noun: 'client secret', action, rows: SECRET_FIELDS, isNext: secrets.length + federated.length === 0 }) : html`<p class="hint">There are two secrets. Rotate or remove one to get another.</p>`)}
${secrets.length === 2 && refused?.action === action && formProblem(refused.error)}</section>`;
}

const WEEK_MS = 7 * 24 * 3600 * 1000;

/** Says that a secret can go, because a federated credential has been used in its place. */
function replacedHint(secret: ApiSecret, federated: readonly FederatedCredential[]): Content {
  const uses = federated.flatMap(({ last_used_at: at }) => (at === null ? [] : [Date.parse(at)]));
  const used = Date.parse(secret.last_used_at ?? secret.created_at);
  if (uses.length === 0) return false;
  const isOld = used < Date.now() - WEEK_MS;
  if (!isOld && used >= Math.max(...uses)) return false;
  return html`<p class="hint">A federated credential is in use: ${isOld ? 'you can remove this secret.' : 'if nothing uses this secret any more, you can remove it.'}</p>`;
}

/** The API keys, with which the application calls without asking for tokens. */
export function keySection(it: Credentials & { keys: readonly ApiKey[] }): Html | false {
  const { keys, fresh, canChange, makers } = it;
  const { value, path } = it.page;
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
    ...only<ApiKey>(canChange, {
      title: 'Change',
      show: ({ id, name, rotated_to: next }) =>
        changeLinks(`${path}/${action}/${encodeURIComponent(id)}`, {
          ...{ name, rotates: next === null, end: 'Revoke' },
        }),
    }),
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
    : newForm(it, { noun: 'API key', action, rows }))
}</section>`;
}

/** A column that only some people see. */
function only<T>(isSeen: boolean, column: Column<T>): Column<T>[] {
  return isSeen ? [column] : [];
}

/** The ways to replace a credential, and to end it. */
function changeLinks(path: string, it: { name: string; rotates: boolean; end: 'Remove' | 'Revoke' }): Html {
  const { name, rotates, end } = it;
  return html`<div class="row-buttons">${rotates && html`<a class="button secondary" href="${path}/rotate" aria-label="${`Rotate ${name}`}">Rotate</a>`}<a class="button danger" href="${path}/${end.toLowerCase()}" aria-label="${`${end} ${name}`}">${end}</a></div>`;
}
