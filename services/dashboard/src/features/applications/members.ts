import { foldedKey, loginKey } from '@gatehouse/domain/folded-key';
import { isConfirmed } from '@gatehouse/web/confirmation';
import { type Content, type Html, html } from '@gatehouse/web/html';
import type { ApiApplication, Application, MemberRole } from '../../api/application-types.ts';
import { keysOf, secretsOf } from '../../api/credentials.ts';
import { namesOfUsers, withoutLinks } from '../../api/names.ts';
import type { Fields } from '../../http/forms.ts';
import { checkbox } from '../../pages/fields.ts';
import { lastUseText, statusTag, time } from '../../pages/parts.ts';
import { type Column, table } from '../../pages/table.ts';
import { type Question, questionView } from '../../resources/confirmed.ts';
import type { Act, Part, Resource, Target } from '../../resources/resource.ts';
import { type FormRow, initialValues, resourceForm, sentValues } from '../../resources/resource-form.ts';
import { notFound, type Visit } from '../../routes/visit.ts';
import { hasRole } from '../../sessions/session.ts';
import { ownerText } from './application-page.ts';

/** A member as the API returns it. */
type Member = {
  user_id: string;
  username: string | null;
  role: MemberRole;
  status: 'invited' | 'accepted';
  /** Those that the member has made. */
  credentials: readonly { id: string; kind: 'client_secret' | 'api_key'; name: string | null }[];
  created_at: string;
};

export const MEMBER_ROLES = [
  ['viewer', 'Viewer: sees the application, its requests and usage'],
  ['developer', 'Developer: also changes its name and look, and creates secrets and API keys'],
] as const;
const FIELDS: readonly FormRow[] = [
  {
    ...{ name: 'user', label: 'User', required: true, maxlength: 254 },
    hint: 'Their username, confirmed email address, or user ID. Inviting a member again changes the role.',
  },
  { name: 'role', label: 'Role', required: true, options: MEMBER_ROLES },
];

/** The members of the application at a path in the API, and those who are invited. */
export const membersOf = async ({ api }: Pick<Visit, 'api'>, apiPath: string) =>
  (await api.get<{ data: Member[] }>(`${apiPath}/members`)).data;

/** The role of the visitor in an application. */
export async function roleIn(
  { owner }: Pick<ApiApplication, 'owner'>,
  visit: Pick<Visit, 'api' | 'person'>,
  apiPath: string,
): Promise<Application['role']> {
  const { id, role } = visit.person;
  if (role === 'admin' || owner === id) return 'owner';
  return (await membersOf(visit, apiPath)).find((it) => it.user_id === id)?.role;
}

/** The members of an application, and the form that invites one. */
export const members: Part<Application> = {
  title: 'Members',
  notices: {
    invited: 'The person is invited, and gets a mail if their address is confirmed.',
    saved: 'The member has this role now. It applies at once.',
    withdrawn: 'The invitation is withdrawn.',
    removed: 'The member is removed. Replace other secrets and keys that they have seen.',
  },
  async view(page) {
    const { path, apiPath, visit, refused, value } = page;
    const { role } = value;
    const { api, person } = visit;
    const [list, people] = await Promise.all([
      membersOf(visit, apiPath),
      // Others may not list users.
      hasRole(person, 'editor') ? namesOfUsers(api, [value.owner]) : withoutLinks(),
    ]);
    const isOwner = role === 'owner';
    const columns: Column<Member>[] = [
      { title: 'User', show: (it) => html`<bdi>${nameOf(it)}</bdi>` },
      {
        title: 'Role',
        show: ({ role: of, status }) =>
          html`${of === 'viewer' ? 'Viewer' : 'Developer'} ${status === 'invited' && statusTag('Invited')}`,
      },
      { title: 'Added', show: (it) => time(it.created_at) },
      { title: 'Credentials', number: true, show: (it) => it.credentials.length },
      {
        title: 'End membership',
        show: (it) => {
          const isSelf = it.user_id === person.id;
          if (!isOwner && !isSelf) return false;
          const href = `${path}/members/${encodeURIComponent(it.user_id)}/remove`;
          const [text, label] = isSelf
            ? ['Leave', 'Leave the application']
            : it.status === 'invited'
              ? ['Withdraw', `Withdraw the invitation of ${nameOf(it)}`]
              : ['Remove', `Remove ${nameOf(it)}`];
          return html`<a class="button danger" href="${href}" aria-label="${label}">${text}</a>`;
        },
      },
    ];
    const sent = refused?.action === 'members' ? refused : undefined;
    return html`<p>${
      isOwner
        ? 'Members use this application with their own accounts, once they accept the invitation. Viewers see its settings, requests and usage. Developers also change its name and look, remove scopes, and create and remove its secrets and API keys. Only the owner changes everything else, deletes and transfers the application, and chooses its members.'
        : `You are a ${role} of this application. Only its owner can add members.`
    }</p>
${value.owner !== person.id && html`<p>Owner: ${ownerText({ owner: value.owner, person, people })}</p>`}
${list.length === 0 ? html`<p class="empty"><strong>There are no members yet.</strong> ${isOwner && 'Invite the people who work on this application with you.'}</p>` : table(columns, list)}
${
  isOwner &&
  html`<section><h2>Invite a member</h2><p class="hint">The person has to accept. A developer can create credentials, and so do what the application may do, as far as the developer’s own role allows it. For a machine, that is to read and change your data within its scopes. These credentials end with the membership.</p>
${resourceForm({
  ...{ rows: FIELDS, submit: 'Invite', inline: true, error: sent?.error },
  target: { action: `${path}/members`, csrf: visit.csrf },
  values: sent === undefined ? initialValues(FIELDS, visit) : sentValues(FIELDS, sent.fields),
})}</section>`
}`;
  },
};

/** Invites a member, or changes the role of one. The credentials of a developer who becomes a viewer end, which it asks about. */
export const addMember: Act<Application> = async (target, fields) => {
  const { visit, path, apiPath } = target;
  const [user, role, taken] = [fields.text('user'), fields.text('role'), fields.all('take_over')];
  if (role === 'viewer' && !isConfirmed(fields.text('confirmation'), {})) {
    const question = await viewerQuestion(target, user);
    if (question !== undefined) return questionView(visit, question);
  }
  const body = { user, role, ...(taken.length > 0 && { take_over: taken }) };
  const { status } = await visit.api.send<Member>('POST', `${apiPath}/members`, body);
  return `${path}/members?done=${status === 'invited' ? status : 'saved'}`;
};

/** The question before a developer becomes a viewer; undefined where that ends nothing. */
async function viewerQuestion(
  target: Target<Application>,
  user: string,
): Promise<Omit<Question, 'act'> | undefined> {
  const { visit, value, path, apiPath } = target;
  const list = await membersOf(visit, apiPath);
  const known = list.find((it) => it.user_id === user || foldedKey(it.username ?? '') === loginKey(user));
  const developers = (known === undefined ? list : [known]).filter(
    ({ role, status }) => role === 'developer' && status === 'accepted',
  );
  const page = {
    ...{ section: 'applications', back: `${path}/members`, hidden: { user, role: 'viewer' } },
    trail: [
      { href: '/dashboard/applications', title: 'Applications' },
      { href: `${path}/members`, title: value.name },
    ],
  };
  const [developer] = developers;
  if (known !== undefined && developer !== undefined) {
    const name = nameOf(developer);
    return {
      ...page,
      title: `Make ${name} a viewer of “${value.name}”?`,
      lost: html`<p><bdi>${name}</bdi> no longer changes the application or its credentials.</p>`,
      fields: await madeCredentials(target, developer),
      submit: 'Make viewer',
    };
  }
  // Only the API knows whose address it is.
  const endangered = developers.filter(({ credentials }) => credentials.length > 0);
  if (known !== undefined || !user.includes('@') || endangered.length === 0) return undefined;
  return {
    ...page,
    title: `Invite ${user} as a viewer of “${value.name}”?`,
    lost: html`<p>If this is the address of a developer below, the credentials that the developer has made stop working at once. To take them over, cancel and enter the username.</p>
<ul>${endangered.map((it) => html`<li><bdi>${nameOf(it)}</bdi>: ${it.credentials.length === 1 ? '1 credential' : `${it.credentials.length} credentials`}</li>`)}</ul>`,
    submit: 'Invite viewer',
  };
}

export const memberQuestions: NonNullable<Resource<Application>['confirmed']> = {
  async 'members/:member/remove'(target, sent) {
    const { visit, value, path, apiPath } = target;
    const list = await membersOf(visit, apiPath);
    const member = list.find((it) => it.user_id === visit.param('member'));
    if (member === undefined) throw notFound();
    const memberPath = `${apiPath}/members/${encodeURIComponent(member.user_id)}`;
    const name = nameOf(member);
    if (member.user_id === visit.person.id) {
      return {
        title: `Leave “${value.name}”?`,
        lost: html`<p>You no longer see the application. Only its owner can invite you again.</p>${lostCredentials(member)}`,
        submit: 'Leave application',
        async act() {
          await visit.api.send('DELETE', memberPath);
          return '/dashboard/applications?done=left';
        },
      };
    }
    if (member.status === 'invited') {
      return {
        title: `Withdraw the invitation of ${name} to “${value.name}”?`,
        lost: html`<p><bdi>${name}</bdi> can no longer accept the invitation. You can invite them again.</p>`,
        submit: 'Withdraw invitation',
        async act() {
          await visit.api.send('DELETE', memberPath);
          return `${path}/members?done=withdrawn`;
        },
      };
    }
    return {
      title: `Remove ${name} from “${value.name}”?`,
      lost: html`<p><bdi>${name}</bdi> no longer sees the application.</p>`,
      fields: await madeCredentials(target, member, sent?.fields),
      submit: 'Remove member',
      async act(fields) {
        const kept = fields.all('take_over').join(',');
        const query = kept === '' ? '' : `?${new URLSearchParams({ take_over: kept })}`;
        await visit.api.send('DELETE', `${memberPath}${query}`);
        return `${path}/members?done=removed`;
      },
    };
  },
};

export const nameOf = ({ username, user_id: id }: Member) => username ?? id;
const KINDS = { api_key: 'API key', client_secret: 'Client secret' } as const;

/** The credentials that end when a member leaves. */
function lostCredentials({ credentials }: Member): Content {
  if (credentials.length === 0) return false;
  return html`<p>These credentials, which you have made, stop working at once:</p>
<ul>${credentials.map(({ id, kind, name }) => html`<li>${KINDS[kind]} <bdi>${name ?? id}</bdi></li>`)}</ul>
<p>To keep them working, ask the owner to remove you and take them over.</p>`;
}

/** The credentials that a member has made, each with a box by which the owner takes it over. */
async function madeCredentials(
  { visit: { api }, apiPath }: Pick<Target<Application>, 'visit' | 'apiPath'>,
  member: Member,
  sent?: Fields,
): Promise<Html> {
  const name = html`<bdi>${nameOf(member)}</bdi>`;
  const ids = new Set(member.credentials.map(({ id }) => id));
  if (ids.size === 0) {
    return html`<p>Secrets and API keys that ${name} has seen keep working: replace them.</p>`;
  }
  const [secrets, keys] = await Promise.all([secretsOf(api, apiPath), keysOf(api, apiPath)]);
  const made = [
    ...secrets.map((it) => ({ ...it, kind: KINDS.client_secret, name: it.label })),
    ...keys.map((it) => ({ ...it, kind: KINDS.api_key })),
  ].filter(({ id }) => ids.has(id));
  const taken = sent?.all('take_over') ?? [];
  return html`<fieldset><legend>Credentials to take over</legend>
<p>The credentials that ${name} has made stop working at once. Those that you tick keep working, as your own.</p>
<div class="checks">${made.map((it) => {
    const kind = html`${it.kind} …${it.last_four ?? it.id}`;
    return checkbox({
      ...{ name: 'take_over', value: it.id, checked: taken.includes(it.id) },
      label: it.name === null ? kind : html`<bdi>${it.name}</bdi>`,
      hint: html`${it.name !== null && html`${kind}, `}created ${time(it.created_at)}, ${lastUseText(it)}`,
    });
  })}</div>
<p>${name} still knows the credentials that you take over: replace them. Other secrets and API keys that ${name} has seen keep working: replace them, too.</p></fieldset>`;
}
