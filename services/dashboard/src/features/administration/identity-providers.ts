import { alertBox, form as pageForm } from '@gatehouse/web/form';
import { type Content, html } from '@gatehouse/web/html';
import { ApiError } from '../../api/api-error.ts';
import { attempt } from '../../api/attempt.ts';
import { matching } from '../../api/matching.ts';
import type { ApiPage } from '../../api/pages.ts';
import { formProblem, type Options } from '../../pages/fields.ts';
import { copyable, exactTime, facts, number, statusTag, time } from '../../pages/parts.ts';
import type { Kind, Resource, ResourceView } from '../../resources/resource.ts';
import { type FormRow, type ResourceField, requestBody, unchanged } from '../../resources/resource-form.ts';
import { resourcePages } from '../../resources/resource-pages.ts';
import type { Visit } from '../../routes/visit.ts';
import { domainOptions } from './email-domains.ts';

type IdentityProvider = {
  id: string;
  preset: string | null;
  source: 'setting' | 'api';
  enabled: boolean;
  label: string;
  issuer: string;
  domains: readonly string[] | null;
  passwords: boolean;
  redirect_uri: string;
  backchannel_logout_uri: string;
  connected_accounts: number;
  created_at: string | null;
  updated_at: string | null;
};

const API = '/api/v1/identity-providers';

/** The kinds of providers: those with a preset know their issuer, their scopes and their name. */
const PRESETS = {
  openid: {
    title: 'OpenID Connect',
    text: 'Any provider with an issuer, such as Keycloak, Microsoft Entra ID, Okta or Auth0.',
  },
  google: { title: 'Google', text: 'Google accounts, of people and of Google Workspace.' },
  microsoft: { title: 'Microsoft', text: 'Accounts of all organizations and personal Microsoft accounts.' },
  github: { title: 'GitHub', text: 'GitHub accounts, or those of your GitHub Enterprise Server.' },
  apple: { title: 'Apple', text: 'Sign in with Apple.' },
} as const;
type Preset = keyof typeof PRESETS;

const ID: ResourceField = {
  name: 'id',
  label: 'ID',
  maxlength: 32,
  hint: 'The name in the redirect URI: letters a to z, digits and hyphens. It cannot be changed later.',
};
const ISSUER: ResourceField = {
  ...{ name: 'issuer', label: 'Issuer', type: 'url', required: true },
  hint: 'The URL to which /.well-known/openid-configuration is added.',
};
const secret = (name: string, label: string, isNew: boolean): ResourceField => ({
  ...{ name, label, type: 'password', required: isNew },
  hint: isNew
    ? 'It is stored encrypted, and never shown again.'
    : 'Leave this empty to keep the present one. If you change the issuer, enter the secret of that issuer.',
});
const APPLE_KEY = 'The private key (PEM) that Apple has given to you, with \\n in the place of line breaks.';

/** Of what GitHub does not have. */
const CLAIMS: readonly ResourceField[] = [
  {
    ...{ name: 'claims', label: 'Names of claims', kind: 'json', rows: 6 },
    json: 'an object with the names of claims',
  },
  {
    ...{ name: 'second_factor', label: 'Two factors', kind: 'json', rows: 6 },
    json: 'an object with the lists amr and acr',
    hint: 'The values of its amr and acr that count as two factors, so that no code is asked for.',
  },
];

function fieldsOf(preset: Preset, domains: Options, current?: IdentityProvider): readonly FormRow[] {
  const isNew = current === undefined;
  const isOpenId = preset === 'openid';
  const initial = isNew && !isOpenId ? { initial: PRESETS[preset].title } : {};
  return [
    ...(isNew ? [{ ...ID, required: isOpenId, initial: isOpenId ? '' : preset }] : []),
    {
      ...{ name: 'label', label: 'Name', required: true, maxlength: 100, ...initial },
      hint: 'People see it on the button, as in “Sign in with Acme”.',
    },
    ...(isOpenId ? [ISSUER] : []),
    { name: 'client_id', label: 'Client ID', required: true, hint: 'From the provider.' },
    ...(preset === 'apple'
      ? [
          { name: 'team_id', label: 'Team ID', required: true },
          { name: 'key_id', label: 'Key ID', required: true },
          {
            ...secret('private_key', 'Private key', isNew),
            hint: isNew ? APPLE_KEY : secret('', '', false).hint,
          },
        ]
      : [secret('client_secret', 'Client secret', isNew)]),
    {
      legend: 'Who can use it',
      fields: [
        {
          ...{ name: 'domains', label: 'Email domains', subject: 'The email domains', kind: 'several' },
          hint: 'People who enter an address of one of these domains are led to the provider, and only people with a verified address of one may sign in with it. Choose none for everybody.',
          options: domains,
          other: { label: 'Another domain', hint: 'Such as acme.example.' },
        },
        {
          ...{ name: 'sign_up', label: 'New accounts' },
          options: [
            ['', 'As the deployment allows sign-up'],
            ['open', 'For everybody who may sign in with it'],
            ['domains', 'For people of the email domains only; others can connect it to their account'],
            ['off', 'For nobody'],
          ],
        },
        {
          ...{
            name: 'passwords',
            label: 'People of the email domains can also use a password',
            kind: 'flag',
          },
          ...(isNew ? { initial: 'yes' } : {}),
        },
      ],
    },
    {
      folded: 'What is taken from the provider',
      fields: [
        {
          ...{ name: 'refresh_profile', label: 'Update names and pictures at each sign-in', kind: 'flag' },
          hint: 'Except what people have changed here.',
        },
        {
          ...{ name: 'trust_email', label: 'Treat its addresses as verified', kind: 'flag' },
          hint: 'For the provider of your own organization only: whoever can set an address there could get the account of another person connected.',
        },
        ...(isNew
          ? []
          : unchanged(
              [
                ...(isOpenId ? [] : [ISSUER]),
                { name: 'scope', label: 'Scope', hint: 'Separated by spaces.' },
                ...(preset === 'github' ? [] : CLAIMS),
              ],
              current,
            )),
      ],
    },
  ];
}

const presetOf = ({ preset }: IdentityProvider) => (preset ?? 'openid') as Preset;

async function kindsAt(publicUrl: string, { api }: Visit): Promise<readonly Kind[]> {
  const domains = await domainOptions(api);
  return Object.entries(PRESETS).map(([name, { title, text }]) => ({
    ...{ name, title, text, formTitle: `New identity provider: ${title}` },
    about:
      'Register this deployment as an application at the provider, with the redirect URI ' +
      `${publicUrl}/sign-in/providers/${name === 'openid' ? '{ID}' : name}/callback, and enter what you get there.`,
    fields: fieldsOf(name as Preset, domains),
  }));
}

/** The request body of a form, without what was left empty. */
function filled(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const isFilled = (value: unknown) => value !== null && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(body).filter(([, value]) => isFilled(value)));
}

/** Tests a provider that is still off, and turns it on if people can sign in with it. Returns the name of the notice. */
async function turnOnTested({ api, putFlash }: Visit, id: string): Promise<string> {
  const name = encodeURIComponent(id);
  const { value, error } = await attempt(api.send<{ problem: string | null }>('POST', `${API}/${name}/test`));
  const problem = error?.message ?? value?.problem;
  const turnedOn =
    problem == null ? await attempt(api.send('PATCH', `${API}/${name}`, { enabled: true })) : undefined;
  const failure = problem ?? turnedOn?.error?.message;
  if (failure === undefined) return 'created';
  await putFlash(`/dashboard/identity-providers/${name}`, failure);
  return 'failed';
}

const ACTIONS: NonNullable<Resource<IdentityProvider>['actions']> = {
  async test({ visit, path, apiPath }) {
    const { problem } = await visit.api.send<{ problem: string | null }>('POST', `${apiPath}/test`);
    if (problem !== null) throw new ApiError(409, problem);
    return `${path}?done=tested`;
  },
  async 'turn-on'({ visit, path, apiPath }) {
    await visit.api.send('PATCH', apiPath, { enabled: true });
    return `${path}?done=on`;
  },
};

const QUESTIONS: NonNullable<Resource<IdentityProvider>['confirmed']> = {
  'turn-off': ({ visit, value, path, apiPath }) => ({
    title: `Turn off “${value.label}”?`,
    lost: html`<p>Nobody can sign in with it until it is on again. ${warning(value)}</p>
${value.passwords === false && html`<p>Meanwhile, people of its email domains can use a password.</p>`}`,
    submit: 'Turn off',
    async act() {
      await visit.api.send('PATCH', apiPath, { enabled: false });
      return `${path}?done=off`;
    },
  }),
};

/** Other providers by which people can sign in. */
export const identityProviders = (config: { publicUrl: string }) =>
  resourcePages<IdentityProvider>({
    name: 'identity-providers',
    noun: ['identity provider', 'identity providers'],
    role: 'admin',
    api: API,
    filters: [],
    find: ({ api }) => api.get<ApiPage<IdentityProvider>>(API),
    search: async ({ api }, text) =>
      matching(await api.get<ApiPage<IdentityProvider>>(API), text, ({ id, label, issuer }) => [
        id,
        label,
        issuer,
      ]),
    columns: [
      {
        ...{ title: 'Name', show: ({ label }) => html`<bdi>${label}</bdi>` },
        below: ({ id }) => html`<br><code class="below">${id}</code>`,
      },
      { title: 'Issuer', show: ({ issuer }) => html`<bdi>${issuer}</bdi>` },
      { title: 'Status', show: ({ enabled }) => statusTag(enabled ? 'active' : 'off') },
      { title: 'Email domains', show: ({ domains }) => domains?.join(', ') ?? 'All' },
      { title: 'Connected accounts', number: true, show: (it) => number(it.connected_accounts) },
      {
        title: 'Added',
        show: ({ created_at: at, source }) => (source === 'setting' ? 'In the setting' : time(at)),
      },
    ],
    empty: html`<p><strong>So far, people can sign in only with accounts of this deployment.</strong> Add an identity provider, such as Google or the OpenID provider of your organization, and they can sign in with the account that they have there.</p>`,
    notices: {
      created: 'The identity provider is added and tested. People can sign in with it now.',
      tested: 'The test succeeded: the metadata, the signing keys, the client ID and the secret are right.',
      on: 'The identity provider is on. People can sign in with it now.',
      off: 'The identity provider is off. Connected accounts stay connected.',
    },
    title: ({ label }) => label,
    view,
    fields: async (it, { api }) =>
      it.source === 'setting' ? [] : fieldsOf(presetOf(it), await domainOptions(api), it),
    create: {
      submit: 'Add and test',
      title: 'New identity provider',
      choice: {
        about: 'Where do people have their accounts?',
        kinds: (visit) => kindsAt(config.publicUrl, visit),
      },
      async send(visit, values, { name, fields }) {
        const preset = name === 'openid' ? {} : { preset: name };
        const body = { ...preset, ...filled(requestBody(fields, values)), enabled: false };
        const { id } = await visit.api.send<{ id: string }>('POST', API, body);
        return { id, done: await turnOnTested(visit, id) };
      },
    },
    update: {
      async send({ visit, apiPath }, { client_secret, private_key, ...changed }) {
        const secrets = filled({ client_secret, private_key });
        const domains =
          Array.isArray(changed.domains) && changed.domains.length === 0 ? { domains: null } : {};
        await visit.api.send('PATCH', apiPath, { ...changed, ...domains, ...secrets });
      },
    },
    actions: ACTIONS,
    confirmed: QUESTIONS,
    remove: {
      lost: 'Nobody can sign in with it any more.',
      warning: ({ value }) => warning(value),
    },
  });

const warning = ({ connected_accounts: count }: IdentityProvider): Content =>
  count === 0
    ? 'No account is connected to it.'
    : html`${number(count)} ${count === 1 ? 'account is' : 'accounts are'} connected to it. People who have no other way to sign in have to ask for a new password. Sessions stay until they end.`;

async function view(page: ResourceView<IdentityProvider>): Promise<Content> {
  const { value: it, visit, path, form, deletion, refused } = page;
  const failures = await visit.takeFlashes();
  const button = (action: string, text: string) =>
    pageForm(
      { action: `${path}/${action}`, csrf: visit.csrf },
      html`<button class="secondary">${text}</button>`,
    );
  const isStored = it.source === 'api';
  return html`${failures.map((failure) =>
    alertBox(
      'The identity provider is added, but it is off, because the test failed.',
      html`<p>${failure} Correct the settings below if they are wrong, and turn it on. Until then, nobody can sign in with it.</p>`,
    ),
  )}${formProblem(refused?.error)}<section class="panel">${facts([
    ['Redirect URI', copyable('redirect-uri', it.redirect_uri)],
    ['Back-channel logout URI', copyable('logout-uri', it.backchannel_logout_uri)],
    ['Type', PRESETS[presetOf(it)].title],
    ['Status', statusTag(it.enabled ? 'active' : 'off')],
    ['Connected accounts', number(it.connected_accounts)],
    ['Added', it.created_at !== null && exactTime(it.created_at)],
    ['Changed', it.updated_at !== it.created_at && it.updated_at !== null && exactTime(it.updated_at)],
  ])}<p>Register the redirect URI at the provider. If it supports back-channel logout, register that URI as well: a sign-out there then ends the sessions that began there.</p>
<div class="row-buttons">${button('test', 'Test')}${isStored && (it.enabled ? html`<a class="button danger" href="${path}/turn-off">Turn off</a>` : button('turn-on', 'Turn on'))}</div></section>
${
  !isStored
    ? html`<p>This identity provider is part of the setting <code>IDENTITY_PROVIDERS</code>, and can only be changed there.</p>`
    : html`<section><h2>Settings</h2>${form}</section>\n${deletion}`
}`;
}
