import { form as pageForm } from '@gatehouse/web/form';
import { type Content, html } from '@gatehouse/web/html';
import { applicationOptions } from '../../api/lookups.ts';
import { matching } from '../../api/matching.ts';
import { TRUSTED_ISSUERS, type TrustedIssuer, trustedIssuersOf } from '../../api/trusted-issuers.ts';
import { formProblem, YES } from '../../pages/fields.ts';
import { copyable, entryOf, exactTime, facts, statusTag, time } from '../../pages/parts.ts';
import type { Kind, Resource, ResourceView } from '../../resources/resource.ts';
import { type FormRow, type ResourceField, requestBody, unchanged } from '../../resources/resource-form.ts';
import { resourcePages } from '../../resources/resource-pages.ts';
import type { Visit } from '../../routes/visit.ts';
import { SCOPES } from '../applications/application-texts.ts';
import { PLATFORMS, type PlatformName } from '../applications/quick-start/platforms.ts';

const KINDS = { workload: 'Workloads', enterprise: 'People (enterprise)' } as const;
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];

const KIND_FIELD: ResourceField = {
  ...{ name: 'kinds', label: 'Its tokens are for', subject: 'The choice', kind: 'several' },
  initial: 'workload',
  options: [
    ['workload', 'Workloads: jobs and services sign in as an application, without a secret.'],
    ['enterprise', 'People (enterprise): applications act for people who sign in with it.'],
  ],
};

/** `current` is undefined for a new one. */
async function fieldsOf(
  { api }: Visit,
  preset: PlatformName,
  current?: TrustedIssuer,
): Promise<readonly FormRow[]> {
  const {
    issuer,
    hint,
    reuses = false,
  }: { issuer: string; hint?: Content; reuses?: boolean } = PLATFORMS[preset];
  const isNew = current === undefined;
  const folded = (title: string, fields: readonly ResourceField[]): FormRow => {
    return { folded: title, fields: isNew ? fields : unchanged(fields, current) };
  };
  const issuerField: ResourceField = {
    ...{ name: 'issuer', label: 'Issuer', type: 'url', required: true, initial: issuer },
    hint: hint ?? 'It cannot be changed later.',
  };
  const keys: readonly ResourceField[] = [
    {
      ...{ name: 'jwks_uri', label: 'URL of the keys', subject: 'The URL of the keys', type: 'url' },
      hint:
        preset === 'spiffe'
          ? 'For a trust domain: the URL of its SPIFFE bundle. For another issuer usually empty.'
          : 'Usually empty: the issuer says where its keys are, at /.well-known/openid-configuration.',
    },
    {
      ...{ name: 'jwks', label: 'Keys', kind: 'json', rows: 6, json: 'a JWK set in JSON: {"keys": […]}' },
      hint:
        preset === 'kubernetes'
          ? html`Only for a cluster that this deployment cannot reach. Paste what this command prints: <code>kubectl get --raw /openid/v1/jwks</code>`
          : html`Only for an issuer that this deployment cannot reach: its public keys, <code>{"keys": […]}</code>. Nothing is fetched then. When the issuer changes its keys, change them here, too.`,
    },
  ];
  return [
    ...(isNew ? [issuerField] : []),
    KIND_FIELD,
    ['kubernetes', 'spiffe'].includes(preset) ? { legend: 'Keys', fields: keys } : folded('Keys', keys),
    folded('Limits', [
      {
        ...{ name: 'scopes', label: 'Scopes', kind: 'several' },
        hint: 'The only scopes that its tokens can give. If you choose none, all scopes of the application are allowed.',
        options: SCOPES.filter(({ personal }) => !personal).map(({ name, description }) => [
          name,
          description,
        ]),
        other: { label: 'Another scope', hint: 'A scope of a registered API.' },
      },
      {
        ...{ name: 'applications', label: 'Applications', kind: 'several', named: true },
        hint: 'The only applications that can use its tokens. If you choose none, all can.',
        options: await applicationOptions(api),
        other: { label: 'Another client ID', hint: 'Of an application that is not in the list.' },
      },
    ]),
    folded('Checks of its tokens', [
      {
        ...{ name: 'reuses_tokens', label: 'Accept the same token more than once', kind: 'flag' },
        initial: reuses ? YES : '',
        hint: 'For an issuer that gives a workload the same token until it expires, such as Kubernetes. A stolen token then works until it expires, at most 24 hours. If this is off, each token works once.',
      },
      {
        ...{ name: 'algorithms', label: 'Signature algorithms', kind: 'several', options: ALGORITHMS },
        ...(isNew && {
          hint: 'If you choose none, the common ones are accepted: RS256, ES256, PS256, EdDSA and Ed25519.',
        }),
      },
    ]),
  ];
}

const presetOf = ({ preset }: Pick<TrustedIssuer, 'preset'>) => (preset ?? 'other') as PlatformName;

const kindsAt = (visit: Visit): Promise<readonly Kind[]> =>
  Promise.all(
    Object.entries(PLATFORMS).map(async ([name, { title, text }]) => ({
      ...{ name, title, text, formTitle: `New trusted issuer: ${title}` },
      about: text,
      fields: await fieldsOf(visit, name as PlatformName),
    })),
  );

/** Without limits that were left empty, which are none. */
function limits(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0;
  return Object.fromEntries(
    ['scopes', 'applications'].filter((name) => isEmpty(body[name])).map((name) => [name, null]),
  );
}

const QUESTIONS: NonNullable<Resource<TrustedIssuer>['confirmed']> = {
  'turn-off': ({ visit, value, path, apiPath }) => ({
    title: 'Turn off this trusted issuer?',
    lost: html`<p><bdi>${value.issuer}</bdi></p>
<p>All access tokens that applications got with its tokens stop working at once, and applications get no new ones. Turning it on again revives none of them: applications then ask for new ones.</p>`,
    submit: 'Turn off',
    async act() {
      await visit.api.send('PATCH', apiPath, { enabled: false });
      return `${path}?done=off`;
    },
  }),
};

/** Issuers whose tokens count here, such as those of a CI or a cluster. */
export const trustedIssuers = resourcePages<TrustedIssuer>({
  name: 'trusted-issuers',
  noun: ['trusted issuer', 'trusted issuers'],
  role: 'admin',
  api: TRUSTED_ISSUERS,
  idPrefix: 'iss',
  filters: [],
  search: async (visit, text) =>
    matching(await trustedIssuersOf(visit.api), text, (it) => [it.issuer, PLATFORMS[presetOf(it)].title]),
  columns: [
    { title: 'Platform', show: (it) => PLATFORMS[presetOf(it)].title },
    { title: 'Issuer', show: ({ issuer }) => html`<bdi>${issuer}</bdi>` },
    { title: 'For', show: kindsText },
    { title: 'Status', show: ({ enabled }) => statusTag(enabled ? 'active' : 'off') },
    { title: 'Added', show: ({ created_at: at }) => time(at) },
  ],
  empty: html`<p><strong>No issuer is trusted yet.</strong> GitHub, GitLab, Kubernetes and the clouds give each job a signed token that says which job it is. Trust the issuer of these tokens, and a job can sign in with its token in place of a client secret. <a href="/docs/guides/ci-without-secrets">How it works</a></p>`,
  notices: {
    created:
      'The issuer is trusted. Next, add a federated credential to an application. It says which tokens of this issuer are accepted.',
    saved: 'Your changes are saved.',
    on: 'The issuer is on. Applications can get access tokens with its tokens again.',
    off: 'The issuer is off. All access tokens that applications got with its tokens have ended.',
  },
  title: ({ issuer }) => issuer,
  view,
  fields: (it, visit) => fieldsOf(visit, presetOf(it), it),
  create: {
    submit: 'Trust issuer',
    choice: { about: 'Where do your jobs and services run?', kinds: kindsAt },
    async send(visit, values, { name, fields }) {
      const { algorithms, ...body } = requestBody(fields, values);
      return visit.api.send<{ id: string }>('POST', TRUSTED_ISSUERS, {
        ...{ ...body, ...limits(body) },
        ...(Array.isArray(algorithms) && algorithms.length > 0 ? { algorithms } : {}),
        ...(name === 'other' ? {} : { preset: name }),
      });
    },
  },
  update: {
    send: ({ visit, apiPath }, changed) =>
      visit.api.send('PATCH', apiPath, { ...changed, ...limits(changed) }),
  },
  actions: {
    async 'turn-on'({ visit, path, apiPath }) {
      await visit.api.send('PATCH', apiPath, { enabled: true });
      return `${path}?done=on`;
    },
  },
  confirmed: QUESTIONS,
  remove: {
    lost: 'All access tokens that applications got with its tokens stop working at once. Federated credentials that name it stay, but accept no token.',
  },
});

function kindsText({ kinds }: TrustedIssuer): string {
  return kinds.map((kind) => entryOf(KINDS, kind) ?? kind).join(', ');
}

function keysText({ jwks, jwks_uri: uri }: TrustedIssuer): Content {
  if (jwks !== null) return `Entered here (${jwks.keys.length})`;
  return uri === null ? 'Found by discovery' : html`<bdi>${uri}</bdi>`;
}

function view({ value: it, visit, path, form, deletion, refused }: ResourceView<TrustedIssuer>): Content {
  return html`${formProblem(refused?.error)}<section class="panel">${facts([
    ['Issuer', copyable('issuer-url', it.issuer)],
    ['Platform', PLATFORMS[presetOf(it)].title],
    ['For', kindsText(it)],
    ['Status', statusTag(it.enabled ? 'active' : 'off')],
    ['Keys', keysText(it)],
    ['A token works', it.reuses_tokens ? 'until it expires' : 'once'],
    ['Added', exactTime(it.created_at)],
    ['Changed', it.updated_at !== it.created_at && exactTime(it.updated_at)],
  ])}
<div class="row-buttons">${
    it.enabled
      ? html`<a class="button danger" href="${path}/turn-off">Turn off</a>`
      : pageForm(
          { action: `${path}/turn-on`, csrf: visit.csrf },
          html`<button class="secondary">Turn on</button>`,
        )
  }</div></section>
<section><h2>Settings</h2><p>Most changes end the access tokens that applications got with its tokens. They ask for new ones.</p>${form}</section>
${deletion}`;
}
