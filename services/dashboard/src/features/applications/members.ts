import { html } from '@gatehouse/web/html';
import type { Application } from '../../api/application-types.ts';
import { time } from '../../pages/parts.ts';
import { type Column, table } from '../../pages/table.ts';
import type { Act, Part, Resource, Target } from '../../resources/resource.ts';
import { type FormRow, initialValues, resourceForm, sentValues } from '../../resources/resource-form.ts';
import { notFound } from '../../routes/dashboard-router.ts';

/** A member as the API returns it. */
type Member = { user_id: string; username: string | null; role: 'viewer' | 'developer'; created_at: string };

const ROLES = [
  ['viewer', 'Viewer: sees the application, its requests and usage'],
  ['developer', 'Developer: also changes it, and creates secrets and API keys'],
] as const;
const FIELDS: readonly FormRow[] = [
  {
    ...{ name: 'user', label: 'User', required: true, maxlength: 254 },
    hint: 'Their username, confirmed email address, or user ID. Adding a member again changes the role.',
  },
  { name: 'role', label: 'Role', required: true, options: ROLES },
];

const membersOf = async ({ visit, apiPath }: Pick<Target<Application>, 'visit' | 'apiPath'>) =>
  (await visit.api.get<{ data: Member[] }>(`${apiPath}/members`)).data;

/** The role of the visitor in an application. */
export async function roleIn(
  target: Pick<Target<Application>, 'visit' | 'value' | 'apiPath'>,
  list?: readonly Member[],
): Promise<'owner' | Member['role'] | undefined> {
  const { id, role } = target.visit.person;
  if (role === 'admin' || target.value.owner === id) return 'owner';
  return (list ?? (await membersOf(target))).find((it) => it.user_id === id)?.role;
}

/** Who takes part in an application, and adding somebody. */
export const members: Part<Application> = {
  title: 'Members',
  notices: {
    saved: 'The member has this role now. It applies at once.',
    removed: 'The member is removed. Replace the secrets and keys that they knew.',
  },
  async view(page) {
    const { path, visit, refused } = page;
    const list = await membersOf(page);
    const role = await roleIn(page, list);
    const isOwner = role === 'owner';
    const columns: Column<Member>[] = [
      { title: 'User', show: (it) => html`<bdi>${it.username ?? it.user_id}</bdi>` },
      { title: 'Role', show: (it) => (it.role === 'viewer' ? 'Viewer' : 'Developer') },
      { title: 'Added', show: (it) => time(it.created_at) },
      {
        title: 'Remove',
        show: (it) => {
          const isSelf = it.user_id === visit.person.id;
          if (!isOwner && !isSelf) return false;
          const href = `${path}/members/${encodeURIComponent(it.user_id)}/remove`;
          return html`<a class="button danger" href="${href}" aria-label="${isSelf ? 'Leave the application' : `Remove ${it.username ?? it.user_id}`}">${isSelf ? 'Leave' : 'Remove'}</a>`;
        },
      },
    ];
    const sent = refused?.action === 'members' ? refused : undefined;
    return html`<p>${
      isOwner
        ? 'Members use this application with their own accounts. Viewers see its settings, requests and usage; developers also change it and its secrets and keys. Only the owner deletes and transfers it, and chooses its members.'
        : `You are a ${role} of this application. Only its owner can add members.`
    }</p>
${list.length === 0 ? html`<p class="empty"><strong>There are no members yet.</strong> ${isOwner && 'Add the people who work on this application with you.'}</p>` : table(columns, list)}
${
  isOwner &&
  html`<section><h2>Add a member</h2><p class="hint">A developer can create credentials, and so do what the application may do. For a machine, that is to read and change your data within its scopes.</p>
${resourceForm({
  ...{ rows: FIELDS, submit: 'Add member', inline: true, error: sent?.error },
  target: { action: `${path}/members`, csrf: visit.csrf },
  values: sent === undefined ? initialValues(FIELDS, visit) : sentValues(FIELDS, sent.fields),
})}</section>`
}`;
  },
};

/** Adds a member, or changes the role of one. */
export const addMember: Act<Application> = async ({ visit, path, apiPath }, fields) => {
  const body = { user: fields.text('user'), role: fields.text('role') };
  await visit.api.send('POST', `${apiPath}/members`, body);
  return `${path}/members?done=saved`;
};

export const memberQuestions: NonNullable<Resource<Application>['confirmed']> = {
  async 'members/:member/remove'(target) {
    const { visit, value, path, apiPath } = target;
    const list = await membersOf(target);
    const member = list.find((it) => it.user_id === visit.param('member'));
    if (member === undefined) throw notFound();
    const isSelf = member.user_id === visit.person.id;
    const name = member.username ?? member.user_id;
    return {
      title: isSelf ? `Leave “${value.name}”?` : `Remove ${name} from “${value.name}”?`,
      lost: isSelf
        ? html`<p>You no longer see the application. Only its owner can add you again.</p>`
        : html`<p><bdi>${name}</bdi> no longer sees the application. Secrets and API keys that <bdi>${name}</bdi> knows keep working: replace them.</p>`,
      submit: isSelf ? 'Leave application' : 'Remove member',
      async act() {
        await visit.api.send('DELETE', `${apiPath}/members/${encodeURIComponent(member.user_id)}`);
        return isSelf ? '/dashboard/applications?done=left' : `${path}/members?done=removed`;
      },
    };
  },
};
