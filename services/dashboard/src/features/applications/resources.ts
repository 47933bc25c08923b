import { form } from '@gatehouse/web/form';
import { type Html, html } from '@gatehouse/web/html';
import { ApiError } from '../../api/api-error.ts';
import { applicationOptions } from '../../api/lookups.ts';
import { matching } from '../../api/matching.ts';
import type { ApiPage } from '../../api/pages.ts';
import { formProblem } from '../../pages/fields.ts';
import { codeBlock, copyable, exactTime, facts, time, userLink } from '../../pages/parts.ts';
import type { FormRow } from '../../resources/resource-form.ts';
import { resourcePages } from '../../resources/resource-pages.ts';
import type { Visit } from '../../routes/visit.ts';
import { ownerText } from './application-page.ts';
import { programTabs } from './quick-start/quick-start.ts';
import { apiFrameworkView } from './quick-start/snippets.ts';
import { API_FRAMEWORKS } from './quick-start/verify.ts';
import { testRevocation, verifiersFact, verifiersPart } from './verifiers.ts';

type Scope = { name: string; description: string };
type ApiResource = {
  id: string;
  identifier: string;
  name: string;
  scopes: readonly Scope[];
  applications: readonly string[] | null;
  owner: string;
  verified_at: string | null;
  created_at: string;
  updated_at: string;
};
/** With its scopes as lines of a form. */
type Resource = Omit<ApiResource, 'scopes'> & { scopes: readonly string[] };

const API = '/api/v1/resources';

const fieldsFor = async ({ api }: Visit): Promise<readonly FormRow[]> => [
  { name: 'name', label: 'Name', required: true, maxlength: 200, hint: 'People see it on the consent page.' },
  {
    ...{ name: 'scopes', label: 'Scopes', kind: 'lines', rows: 5, required: true, line: 'Scope' },
    hint: 'One in each line: the name, a space, and the sentence about it on the consent page, such as “calendar:read Read your appointments”.',
  },
  {
    ...{ name: 'applications', label: 'Applications', kind: 'several', named: true },
    hint: 'The applications that may ask for it. Choose none for all applications that sign people in, and your own machines.',
    options: await applicationOptions(api),
    other: { label: 'Another client ID', hint: 'Of an application that is not in the list.' },
  },
];
const identifier: FormRow = {
  ...{ name: 'identifier', label: 'URL', type: 'url', required: true, maxlength: 500 },
  hint: 'The URL of your API or MCP server. It is the audience of its access tokens, and cannot be changed later.',
};

const unverified = (isOwn: boolean) =>
  `${isOwn ? 'Your own' : 'The owner’s'} applications get tokens now. Others do once your server serves its metadata, which is checked at the first sign-in.`;

/** The metadata that an API has to serve to be verified (RFC 9728 §3), with its address. */
function metadataSection(
  { identifier: url, name, owner, scopes }: Resource,
  issuer: string,
  quickStart: string,
): Html {
  const { origin, pathname, search } = new URL(url);
  const metadata = {
    resource: url,
    authorization_servers: [issuer],
    scopes_supported: scopes.map((it) => it.split(' ', 1)[0]),
    resource_name: name,
    gatehouse_owner: owner,
  };
  const address = `${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}${search}`;
  return html`<section><h2>Metadata to serve</h2><p>Your server responds with this JSON to <code>GET ${address}</code>. The <a href="${quickStart}">quick start</a> has programs that do.</p>
${codeBlock('metadata', JSON.stringify(metadata, null, 2))}</section>`;
}

const lineOf = ({ name, description }: Scope) => `${name} ${description}`;
function scopeOf(line: string, at: number): Scope {
  const [name = '', ...words] = line.split(/\s+/);
  if (words.length > 0) return { name, description: words.join(' ') };
  const message = `Line ${at + 1} needs a sentence after the name, such as “calendar:read Read your appointments”.`;
  throw new ApiError(400, message, { details: [{ field: 'scopes', message }] });
}
const lines = (text = '') =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
const orNull = (list: readonly unknown[]) => (list.length === 0 ? null : list);
async function list({ api }: Visit): Promise<ApiPage<Resource>> {
  const { data, ...page } = await api.get<ApiPage<ApiResource>>(API);
  return { ...page, data: data.map(withLines) };
}
const withLines = (it: ApiResource): Resource => ({ ...it, scopes: it.scopes.map(lineOf) });

/** APIs and MCP servers of people, for which applications get access tokens here. */
export const resources = ({ publicUrl }: { publicUrl: string }) =>
  resourcePages<Resource>({
    name: 'resources',
    noun: ['API', 'APIs'],
    api: API,
    idPrefix: 'rsr',
    filters: [],
    find: list,
    search: async (visit, text) =>
      matching(await list(visit), text, ({ name, identifier: url }) => [name, url]),
    async read({ api }, path) {
      const { value, etag } = await api.read<ApiResource>(path);
      return { value: withLines(value), etag };
    },
    columns: [
      { title: 'Name', show: ({ name }) => html`<bdi>${name}</bdi>` },
      { title: 'URL', show: ({ identifier: url }) => html`<bdi>${url}</bdi>` },
      { title: 'Owner', role: 'admin', show: ({ owner }, people) => userLink(owner, people) },
      { title: 'Created', show: ({ created_at: at }) => time(at) },
    ],
    empty: html`<p><strong>There are no APIs yet.</strong> Register an API or MCP server of yours: people sign in here, and applications get access tokens for it. The guide <a href="/docs/guides/protect-an-mcp-server">Protect an MCP server</a> shows how.</p>`,
    title: ({ name }) => name,
    people: ({ owner }) => [owner],
    partTitle: 'Settings',
    parts: {
      'quick-start': {
        title: 'Quick start',
        view({ value, visit, path }) {
          const { identifier: url, name, owner, scopes } = value;
          const scope = scopes[0]?.split(' ', 1)[0] ?? '';
          const sample = { base: publicUrl, identifier: url, name, owner, scope };
          return programTabs({ visit, path }, publicUrl, API_FRAMEWORKS, (it) =>
            apiFrameworkView(it, sample),
          );
        },
      },
      verifiers: verifiersPart,
    },
    view: async ({
      value,
      visit,
      path,
      apiPath,
      people,
      form: settings,
      deletion,
      refused,
      etag,
    }) => html`${formProblem(refused?.error)}
<section class="panel">${facts([
      ['URL', copyable('resource-url', value.identifier)],
      ['API ID', copyable('resource-id', value.id)],
      ['Owner', ownerText({ owner: value.owner, person: visit.person, people })],
      [
        'Verified',
        value.verified_at ? exactTime(value.verified_at) : unverified(value.owner === visit.person.id),
      ],
      ['Verifiers', await verifiersFact({ value, visit, path, apiPath, etag })],
      ['Created', exactTime(value.created_at)],
    ])}</section>
<div class="row-buttons">${form({ action: `${path}/verify`, csrf: visit.csrf }, html`<button class="secondary">Check again</button>`)}</div>
${value.verified_at === null && metadataSection(value, publicUrl, `${path}/quick-start`)}
<section><h2>Settings</h2>${settings}</section>
${deletion}`,
    fields: (_, visit) => fieldsFor(visit),
    create: {
      submit: 'Register API',
      once: true,
      fields: async (visit) => [identifier, ...(await fieldsFor(visit))],
      send: ({ api }, values) =>
        api.send<{ id: string }>('POST', API, {
          ...{ identifier: values.identifier, name: values.name },
          scopes: lines(values.scopes).map(scopeOf),
          applications: orNull((values.applications ?? '').split(' ').filter(Boolean)),
        }),
    },
    update: {
      async send({ visit, apiPath }, { scopes, applications, ...changed }) {
        await visit.api.send('PATCH', apiPath, {
          ...changed,
          ...(Array.isArray(scopes) ? { scopes: scopes.map((line, at) => scopeOf(String(line), at)) } : {}),
          ...(Array.isArray(applications) ? { applications: orNull(applications) } : {}),
        });
      },
    },
    notices: { verified: 'The metadata of the API names this deployment.' },
    actions: {
      'verifiers/test': testRevocation,
      async verify({ visit, apiPath, path }) {
        await visit.api.send('POST', `${apiPath}/verify`);
        return `${path}?done=verified`;
      },
    },
    remove: {
      lost: 'No application gets access tokens for it any more. Tokens that were issued work until they expire, unless your server introspects them.',
    },
  });
