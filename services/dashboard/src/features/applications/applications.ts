import type { BrandFields } from '@gatehouse/web/branding';
import { html } from '@gatehouse/web/html';
import {
  type ApiApplication,
  type Application,
  type ApplicationPage,
  type AppType,
  type AssertionRule,
  applicationPath,
  type ExchangeRule,
  isConfidential,
  withId,
} from '../../api/application-types.ts';
import { USER_HINT, userIdOf } from '../../api/lookups.ts';
import type { ApiPage } from '../../api/pages.ts';
import { TOO_LARGE } from '../../pages/branding.ts';
import { lastUsed, lastUseText, statusTag, time } from '../../pages/parts.ts';
import type { Kind } from '../../resources/resource.ts';
import { requestBody } from '../../resources/resource-form.ts';
import type { ListQuery } from '../../resources/resource-list.ts';
import { resourcePages } from '../../resources/resource-pages.ts';
import type { Section } from '../../routes/dashboard-router.ts';
import type { Visit } from '../../routes/visit.ts';
import { applicationPage, ownerText } from './application-page.ts';
import { TYPES } from './application-texts.ts';
import { applicationUserQuestions, applicationUsers } from './application-users.ts';
import { branding, changeBranding } from './branding.ts';
import { credentialActions, credentialQuestions, credentials, keepForPage } from './credentials.ts';
import { askToMark } from './deployer-mark.ts';
import { addMember, memberQuestions, members, roleIn } from './members.ts';
import { addMembershipRoutes, invitationNotice, membershipsOf } from './memberships.ts';
import { pinProfiles, profiles } from './profiles.ts';
import { quickStart } from './quick-start/quick-start.ts';
import { endRegistration } from './registered-client.ts';
import { newApplicationFields, SET_BY_PROFILE, settingsFields } from './settings-fields.ts';
import { addTransferRoutes, askToTransfer, cancelTransfer, transferNotice } from './transfers.ts';
import { askToTrust } from './trust.ts';
import { usage } from './usage.ts';

const API = '/api/v1/applications';
const kindsOf = ({ publicUrl }: Config): readonly Kind[] =>
  Object.entries(TYPES).map(([type, { name, description, how }]) => ({
    name: type,
    title: name,
    text: description,
    hint: how,
    formTitle: `New ${name.toLowerCase()}`,
    about: how,
    fields: newApplicationFields(type as AppType, publicUrl),
  }));

const NOTICES = {
  saved: 'Your changes are saved. New scopes apply to tokens that are issued from now on.',
  created:
    'The application is created. Your code needs its client ID, below. The quick start shows how to use it.',
  offered:
    'The transfer is offered. The application stays yours until the new owner accepts. The offer expires after 7 days.',
  accepted: 'The application is yours. It has no secrets or keys until you create them.',
  trusted: 'The application is trusted. New tokens act with its own scopes.',
  untrusted: 'The trust has ended. Tokens that were issued before no longer work.',
  marked: 'The application is a deployer. You get a mail about it.',
  unmarked: 'The application is no deployer any more. Its tokens for configuration files no longer work.',
  cancelled: 'The offer is cancelled. The application stays yours.',
  deleted: 'The application is deleted. Its tokens, secrets and keys no longer work.',
  joined: 'You are a member of the application now.',
  'not-joined': 'You declined the invitation.',
  unregistered: 'The client no longer manages its own registration. Its credentials still work.',
  left: 'You are no longer a member of the application.',
  declined: 'You declined the application. It stays with its owner.',
};

type Config = { publicUrl: string; rateLimit?: 'on' | 'off'; brand?: BrandFields | undefined };

/** Applications: their settings, credentials and owners, and how to use them. */
export function applications(config: Config): Section {
  const { part: quickStartPart, act: tryRequest } = quickStart(config);
  return resourcePages<Application>({
    name: 'applications',
    noun: ['application', 'applications'],
    api: API,
    newIdPrefix: 'app',
    people: ({ owner, trusted_by: by }) => [owner, by],
    introduction: async ({ api, csrf }) =>
      html`${await transferNotice(api)}${await invitationNotice(api, csrf)}`,
    notices: NOTICES,
    filters: [
      { name: 'q', label: 'Name or client ID' },
      { name: 'owner', label: 'Owner', hint: USER_HINT, role: 'admin' },
    ],
    async find(visit, query) {
      const [page, memberships] = await Promise.all([
        findApplications(visit, query),
        membershipsOf(visit.api),
      ]);
      const roles = new Map(memberships.map((it) => [it.client_id, it.role]));
      return { ...page, data: page.data.map((it) => ({ ...it, role: roles.get(it.id) ?? 'owner' })) };
    },
    search: (visit, text) => findApplications(visit, { q: text, cursor: '' }),
    columns: ({ person }) => [
      {
        title: 'Name',
        show: ({ name }) => html`<bdi>${name}</bdi>`,
        below: ({ client_id: id, name }) =>
          html`<br><code class="below">${id}</code><br><a class="below" href="/dashboard/applications/${encodeURIComponent(id)}/credentials" aria-label="${`Secrets and keys of ${name}`}">Secrets and keys</a>`,
      },
      {
        title: 'Type',
        show: ({ type, trusted }) => html`${TYPES[type].short} ${trusted && statusTag('trusted')}`,
      },
      // Admins are owners everywhere.
      ...(person.role === 'admin' ? [] : [{ title: 'Your role', show: roleText }]),
      { title: 'Owner', role: 'admin', show: ({ owner }, people) => ownerText({ owner, person, people }) },
      { title: 'Created', show: ({ created_at: at }) => time(at) },
      { title: 'Last used', show: (it) => lastUsed(it) },
    ],
    empty: html`<p><strong>You have no applications yet.</strong> A website, a phone app or a job on a server needs an application to get access tokens.</p>`,
    async read(visit, apiPath) {
      const { api } = visit;
      const { value, etag } = await api.read<ApiApplication>(apiPath);
      return { value: { ...withId(value), role: await roleIn(value, visit, apiPath) }, etag };
    },
    title: ({ name }) => name,
    partTitle: 'Settings',
    view: applicationPage,
    parts: {
      branding: branding(config),
      credentials: credentials(config),
      'quick-start': quickStartPart,
      usage: usage(config),
      users: applicationUsers,
      members,
      profiles,
    },
    fields: settingsFields,
    create: {
      choice: {
        about:
          'The type decides how people sign in and whether the application has a secret. It cannot be changed later.',
        kinds: async () => kindsOf(config),
      },
      once: true,
      async send(visit, values, { name: type, fields }) {
        const settings = omitProfileSettings(withRules(requestBody(fields, values)));
        const body = { scopes: [], ...settings, type };
        const made = await visit.api.send<ApiApplication & { client_secret?: string }>('POST', API, body);
        const { client_id: id, client_secret: secret } = made;
        if (!isConfidential(made) || secret === undefined) return { id };
        const path = `/dashboard/applications/${encodeURIComponent(id)}`;
        const page = type === 'web' ? 'quick-start' : 'credentials';
        return `${await keepForPage({ visit, path }, { kind: 'secret', text: secret }, page)}?done=created`;
      },
    },
    update: {
      send: ({ visit: { api }, apiPath }, changed) =>
        api.send('PATCH', apiPath, omitProfileSettings(withRules(changed))),
    },
    actions: {
      ...credentialActions(config),
      branding: { act: changeBranding, form: { files: true, tooLarge: TOO_LARGE } },
      'quick-start': tryRequest,
      members: addMember,
      profiles: pinProfiles,
      'transfer/cancel': cancelTransfer,
      'registration/end': endRegistration,
    },
    confirmed: {
      ...credentialQuestions,
      ...memberQuestions,
      ...applicationUserQuestions,
      trust: askToTrust,
      'take-over-trust': askToTrust,
      deployer: askToMark,
      transfer: askToTransfer,
    },
    remove: {
      lost: 'Its tokens, client secrets and API keys stop working at once.',
      warning: ({ value }) => html`The application was ${lastUseText(value)}.`,
    },
    routes(router) {
      addTransferRoutes(router);
      addMembershipRoutes(router);
    },
  });
}

const roleText = ({ role }: Application) => (role === 'owner' ? 'owner' : statusTag(role ?? ''));

const CLIENT_ID = /^[\w.-]+$/;

/** A page of the applications with a name, which begins with the one that has this client ID. */
async function findApplications(
  { api }: Visit,
  { q = '', owner: ownerName = '', cursor }: ListQuery,
): Promise<ApiPage<Application>> {
  const owner = await userIdOf(api, ownerName);
  const query = { cursor, q: q || undefined, owner: owner || undefined };
  const mayBeId = CLIENT_ID.test(q) && cursor === '';
  const [page, exact] = await Promise.all([
    api.get<ApplicationPage>(API, query),
    mayBeId ? api.get<ApiApplication>(applicationPath(q)).catch(() => undefined) : undefined,
  ]);
  const found = { ...page, data: page.data.map(withId) };
  if (exact === undefined || (owner !== '' && exact.owner !== owner)) return found;
  const others = found.data.filter(({ id }) => id !== exact.client_id);
  const total = (page.meta?.totalItems ?? 0) + (others.length === page.data.length ? 1 : 0);
  return { ...page, data: [withId(exact), ...others], meta: { ...page.meta, totalItems: total } };
}

/** A rule as the API has it, from the words of its line in a form. */
const RULES: Readonly<Record<string, (words: string[]) => ExchangeRule | AssertionRule>> = {
  token_exchange: ([resource = '', ...scopes]) => ({ resource, scopes }),
  identity_assertions([server = '', id = '', ...scopes]) {
    const at = scopes.indexOf('|');
    const resources = at < 0 ? {} : { resources: scopes.splice(at).slice(1) };
    return { authorization_server: server, client_id: id, scopes, ...resources };
  },
};

/** The settings with the lines of their rules as the API has them. */
function withRules(settings: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(settings).map(([name, value]) => {
    const ruleOf = RULES[name];
    return [
      name,
      ruleOf && Array.isArray(value) ? value.map((it) => ruleOf(String(it).split(/\s+/))) : value,
    ];
  });
  return Object.fromEntries(entries);
}

/** The settings that a newly chosen security profile requires are left to the API. */
function omitProfileSettings(settings: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const isChosen = Boolean(settings.security_profile);
  const kept = Object.entries(settings).filter(([name]) => !(isChosen && SET_BY_PROFILE.has(name)));
  return Object.fromEntries(kept);
}
