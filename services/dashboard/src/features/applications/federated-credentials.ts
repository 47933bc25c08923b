import { type Content, type Html, html } from '@gatehouse/web/html';
import { ApiError } from '../../api/api-error.ts';
import { type Application, type FederatedCredential, hasSetting } from '../../api/application-types.ts';
import { federatedOf } from '../../api/credentials.ts';
import { trustedIssuersOf } from '../../api/trusted-issuers.ts';
import type { Fields } from '../../http/forms.ts';
import { highlight } from '../../pages/highlight.ts';
import { codeBlock, lastUsed, lastUseText, statusTag, time } from '../../pages/parts.ts';
import { type Column, table } from '../../pages/table.ts';
import type { Act, PartView, Resource, Target } from '../../resources/resource.ts';
import { type FormRow, type ResourceField, resourceForm } from '../../resources/resource-form.ts';
import { notFound, type Visit } from '../../routes/visit.ts';
import { newForm } from './credential-sections.ts';
import { PLATFORMS, platformOf } from './quick-start/platforms.ts';

/** The answer of the API about a token, and about each rule. */
export type Explanation = {
  token: { valid: boolean; problem?: string };
  rules: readonly {
    id: string;
    name: string;
    matches: boolean;
    claim?: string;
    expected?: unknown;
    actual?: unknown;
  }[];
};

const ADD = 'credentials/federated';
const EXPLAIN = 'credentials/explain';

const TOKEN: FormRow = {
  ...{ name: 'token', label: 'Token', required: true, rows: 5 },
  hint: 'The JWT that the job sent. It is not stored, and the job can still use it.',
};

/** Admins choose from the trusted issuers; others may not list them. */
async function issuerChoice(visit: Visit): Promise<Partial<ResourceField>> {
  const link = html`<a href="/dashboard/trusted-issuers">Trusted issuers</a>`;
  if (visit.person.role !== 'admin') {
    const known = Object.values(PLATFORMS).filter(({ issuer }) => issuer !== '');
    return {
      hint: html`The claim <code>iss</code> of the token. Ask an administrator which issuers are trusted here.`,
      suggestions: known.map(({ issuer, title }) => [issuer, title]),
    };
  }
  const { data } = await trustedIssuersOf(visit.api);
  const usable = data.filter(({ enabled, kinds }) => enabled && kinds.includes('workload'));
  if (usable.length === 0) return { hint: html`No issuer is trusted yet. Add one under ${link} first.` };
  return {
    hint: html`The issuer of the tokens. Others can be added under ${link}.`,
    options: usable.map(({ issuer }) => issuer),
  };
}

async function fieldsFor(visit: Visit): Promise<readonly FormRow[]> {
  return [
    // Beside the name of an API key.
    {
      ...{ name: 'rule_name', label: 'Name', required: true, maxlength: 200 },
      hint: 'The job that signs in with it, such as “deployment of the shop”.',
    },
    { ...{ name: 'issuer', label: 'Issuer', required: true }, ...(await issuerChoice(visit)) },
    {
      ...{ name: 'subject', label: 'Subject', required: true, maxlength: 500 },
      hint: html`The claim <code>sub</code> of the token: <code>repo:acme@1234/shop@5678:*</code> at GitHub (<code>repo:acme/shop:*</code> for a repository from before July 15, 2026), <code>project_path:acme/shop:ref_type:branch:ref:main</code> at GitLab, <code>system:serviceaccount:shop:worker</code> in Kubernetes. Put <code>*</code> after the last <code>:</code> or <code>/</code> to accept all subjects with that beginning.`,
    },
    {
      folded: 'Further claims and audience',
      fields: [
        {
          ...{ name: 'claims', label: 'Claims', subject: 'The claim', kind: 'lines', rows: 3 },
          hint: html`Claims that the token must have as well, one per line, such as <code>repository_id=5678</code>. Upper and lower case differ. A value may end with <code>*</code>, like the subject.`,
        },
        {
          ...{ name: 'audience', label: 'Audience', maxlength: 500 },
          hint: html`The claim <code>aud</code> of the token. Leave this empty if it is the URL of this deployment. At Azure, it is the ID of an application there, such as <code>api://…</code>.`,
        },
      ],
    },
  ];
}

/** Whether an admin still trusts the issuer. */
export const mayBeUsed = (it: FederatedCredential): boolean => it.issuer_enabled !== false;

/** The claims that a token must have, as lines. */
const claimLines = ({ subject, claims, audience }: FederatedCredential): string[] => [
  `sub=${subject}`,
  ...Object.entries(claims).map(([name, value]) => `${name}=${value}`),
  ...(audience === null ? [] : [`aud=${audience}`]),
];

/** The rules by which jobs sign in as the application with tokens of their platforms, and the forms for them. */
export async function federatedSection(
  { page, federated }: { page: PartView<Application>; federated: readonly FederatedCredential[] },
  explanation?: Explanation,
): Promise<Html | false> {
  const { value, path, visit } = page;
  if (!hasSetting(value.type, 'federated_credentials')) return false;
  if (value.security_profile !== null) {
    return html`<section><h2>Federated credentials</h2><p class="empty">With its security profile, the application signs in with its own keys only.</p></section>`;
  }
  const isOwner = value.role === 'owner';
  const remove: Column<FederatedCredential> = {
    title: 'Change',
    show: ({ id, name }) =>
      html`<a class="button danger" href="${`${path}/${ADD}/${encodeURIComponent(id)}/remove`}" aria-label="${`Remove ${name}`}">Remove</a>`,
  };
  const columns: Column<FederatedCredential>[] = [
    {
      title: 'Name',
      show: ({ id, name, created_at: at }) =>
        html`<bdi>${name}</bdi><br><span class="below">Created ${time(at)}</span><br><a class="below" href="${`${path}/credentials?rule=${encodeURIComponent(id)}`}" aria-label="${`How to use ${name}`}">How to use</a>`,
    },
    {
      title: 'Issuer',
      show: (it) =>
        html`<bdi>${it.issuer}</bdi>${!mayBeUsed(it) && html`<br>${statusTag('off')} <span class="below">Administrators no longer trust it.</span>`}`,
    },
    {
      title: 'Claims',
      show: (it) => claimLines(it).map((line, i) => html`${i > 0 && html`<br>`}<code>${line}</code>`),
    },
    { title: 'Last used', show: (it) => lastUsed(it) },
    ...(isOwner ? [remove] : []),
  ];
  return html`<section id="federated"><h2>Federated credentials</h2>
<p>A job at GitHub, GitLab, Kubernetes or a cloud signs in with the token that its platform gives it, and needs no secret. A federated credential says which of these tokens are accepted. <a href="/docs/guides/ci-without-secrets">How it works</a></p>
${federated.length === 0 ? html`<p class="empty">There is no federated credential yet.</p>` : table(columns, federated)}
${isOwner ? newForm({ page }, { noun: 'federated credential', action: ADD, rows: await fieldsFor(visit) }) : html`<p class="hint">Only its owner adds and removes them.</p>`}
${value.role !== 'viewer' && federated.length > 0 && explainForm(page, explanation)}</section>`;
}

/** The form for a token, which is never shown again, with what the API says of it. */
function explainForm({ path, visit, refused }: PartView<Application>, explanation?: Explanation): Html {
  const error = refused?.action === EXPLAIN ? refused.error : undefined;
  const isOpen = explanation !== undefined || error !== undefined;
  return html`<details class="panel"${isOpen && html` open`}><summary>Why is my token not accepted?</summary>
${explanation && explanationView(explanation)}
${resourceForm({
  ...{ rows: [TOKEN], values: {}, submit: 'Explain', error },
  target: { action: `${path}/${EXPLAIN}`, csrf: visit.csrf },
})}</details>`;
}

function explanationView({ token, rules }: Explanation): Html {
  const claimValue = (value: unknown): Content =>
    value === null || value === undefined
      ? 'missing'
      : html`<code>${typeof value === 'string' ? value : JSON.stringify(value)}</code>`;
  const columns: Column<Explanation['rules'][number]>[] = [
    { title: 'Federated credential', show: ({ name }) => html`<bdi>${name}</bdi>` },
    {
      title: 'Result',
      show: ({ matches, claim }) => (matches ? '✓ It matches.' : html`<code>${claim}</code> differs.`),
    },
    { title: 'Expected', show: ({ matches, expected }) => (matches ? '–' : claimValue(expected)) },
    { title: 'In the token', show: ({ matches, actual }) => (matches ? '–' : claimValue(actual)) },
  ];
  const isMatched = rules.some(({ matches }) => matches);
  const [result, why] = !token.valid
    ? ['This token is not accepted.', token.problem]
    : isMatched
      ? [
          'This token is accepted.',
          'If the job is still refused, the token was used before. Each works once, unless its issuer gives out the same one repeatedly.',
        ]
      : [
          'This token is not accepted.',
          'A trusted issuer signed it, and it has not expired. But no federated credential matches it.',
        ];
  return html`<div class="stack" role="status"><p><strong>${result}</strong> ${why}</p>
${table(columns, rules)}</div>`;
}

/** How a job asks for a token by the rule that the query names. */
export function usagePanel(
  { value, visit }: PartView<Application>,
  federated: readonly FederatedCredential[],
  base: string,
): Html | false {
  const rule = federated.find(({ id }) => id === visit.query('rule'));
  if (rule === undefined) return false;
  const platform = platformOf(rule);
  const { subject, issuer, audience } = rule;
  const workload = { base, application: value, subject, issuer, audience: audience ?? base };
  return html`<section class="panel" id="use"><h2>How “<bdi>${rule.name}</bdi>” gets an access token</h2>
<p>The job asks ${platform === PLATFORMS.other ? 'its platform' : platform.title} for a token with the audience <code>${workload.audience}</code>, and sends it in place of a client secret. The access token is then in <code>TOKEN</code>.${value.type === 'web' && html` <code>CODE</code> is the authorization code with which a person comes back.`}</p>
${Object.entries(platform.files(workload)).map(([place, { text, grammar }], i) => html`<h3>${place}</h3>${codeBlock(`use-${i}`, highlight(text, grammar))}`)}</section>`;
}

/** Adds a rule, and goes on to the page that shows how it is used. */
const addRule: Act<Application> = async ({ visit, path, apiPath }, fields) => {
  const claims = fields
    .text('claims')
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line, at) => {
      const [, name, value] = /^([^=]+)=(.+)$/.exec(line) ?? [];
      if (name !== undefined && value !== undefined) return [name.trim(), value.trim()] as const;
      const message = `Line ${at + 1} needs a name and a value, such as “environment=production”.`;
      throw new ApiError(400, message, { details: [{ field: 'claims', message }] });
    });
  const { id } = await visit.api.send<{ id: string }>('POST', `${apiPath}/federated-credentials`, {
    name: fields.text('rule_name'),
    issuer: fields.text('issuer'),
    subject: fields.text('subject'),
    audience: fields.text('audience') || null,
    claims: Object.fromEntries(claims),
  });
  return `${path}/credentials?done=federated&rule=${encodeURIComponent(id)}`;
};

/** Asks the API to explain a token. */
export const explain = ({ visit, apiPath }: Target<Application>, fields: Fields) =>
  visit.api.send<Explanation>('POST', `${apiPath}/federated-credentials/explain`, {
    token: fields.text('token'),
  });

export const federatedActions = { [ADD]: { once: addRule } };

/** The question before a rule is removed. */
export const federatedQuestions: NonNullable<Resource<Application>['confirmed']> = {
  async [`${ADD}/:credential/remove`]({ visit, path, apiPath }) {
    const all = await federatedOf(visit.api, apiPath);
    const rule = all.find(({ id }) => id === visit.param('credential'));
    if (rule === undefined) throw notFound();
    return {
      title: `Remove the federated credential “${rule.name}”?`,
      lost: html`<p>Tokens of <bdi>${rule.issuer}</bdi> with the subject <code>${rule.subject}</code>, ${lastUseText(rule)}. Jobs can no longer sign in with them, and the access tokens that the application has for itself stop working at once.</p>`,
      submit: 'Remove federated credential',
      async act() {
        await visit.api.send('DELETE', `${apiPath}/federated-credentials/${encodeURIComponent(rule.id)}`);
        return `${path}/credentials?done=unfederated`;
      },
    };
  },
};
