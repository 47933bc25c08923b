import { html } from '@gatehouse/web/html';
import type { Api } from '../../api/api.ts';
import { ApiError } from '../../api/api-error.ts';
import type { MemberRole } from '../../api/application-types.ts';
import { applicationOptions, clientIdsOf } from '../../api/lookups.ts';
import { matching } from '../../api/matching.ts';
import { namesOfApplications } from '../../api/names.ts';
import type { ApiPage } from '../../api/pages.ts';
import { MAX_CHOICE } from '../../pages/fields.ts';
import { applicationLink, exactTime, facts, time, userLink } from '../../pages/parts.ts';
import { type FormRow, type ResourceField, requestBody } from '../../resources/resource-form.ts';
import { resourcePages } from '../../resources/resource-pages.ts';
import type { Visit } from '../../routes/visit.ts';
import { MEMBER_ROLES } from '../applications/members.ts';
import { ROLES } from './user-role.ts';

type Invitation = {
  id: string;
  email: string;
  invited_by: string;
  role: string;
  application: { client_id: string; role: MemberRole } | null;
  created_at: string;
  expires_at: string;
};

const API = '/api/v1/invitations';

/** The application that the person becomes a member of: a choice, or a text with suggestions where there are many. */
async function applicationField(api: Api): Promise<ResourceField> {
  const all = await applicationOptions(api);
  const common = { name: 'application', label: 'Application' };
  if (all.length > MAX_CHOICE) {
    return {
      ...common,
      hint: 'The name or client ID of an application that the person will be a member of. Leave this empty for none.',
      suggestions: all,
    };
  }
  const isShared = (name: string) => all.filter(([, other]) => other === name).length > 1;
  const options = all.map(([id, name]) => [id, isShared(name) ? `${name} (${id})` : name] as const);
  return { ...common, hint: 'The person will be a member of it.', options: [['', 'None'], ...options] };
}

const fieldsFor = async ({ api }: Visit): Promise<readonly FormRow[]> => [
  {
    name: 'email',
    label: 'Email',
    subject: 'The email address',
    type: 'email',
    required: true,
    hint: 'The mail has a link that works once, for 7 days. The address counts as confirmed when the account is created. Another invitation to the same address replaces this one.',
  },
  await applicationField(api),
  {
    ...{ name: 'member_role', label: 'Role in the application' },
    options: [['', 'Choose a role'], ...MEMBER_ROLES],
    hint: 'Required together with an application.',
  },
  {
    ...{ name: 'role', label: 'Role of the account', required: true, options: ROLES, initial: 'user' },
    hint: '“user” is the role for developers: they create and manage their own applications. The role ends with the invitation if you are no longer an admin before the account is created.',
  },
];

const fieldError = (field: string, message: string) =>
  new ApiError(400, message, { details: [{ field, message }] });

/** Those whom an admin has invited, and who have not created their account yet. */
export const invitations = resourcePages<Invitation>({
  name: 'invitations',
  noun: ['invitation', 'invitations'],
  role: 'admin',
  api: API,
  idPrefix: 'inv',
  filters: [],
  find: async ({ api }) => api.get<ApiPage<Invitation>>(API),
  search: async ({ api }, text) =>
    matching(await api.get<ApiPage<Invitation>>(API), text, ({ email }) => [email]),
  columns: [
    { title: 'Email', show: ({ email }) => html`<bdi>${email}</bdi>` },
    { title: 'Role', show: ({ role }) => role },
    { title: 'Sent', show: ({ created_at: at }) => time(at) },
    { title: 'Expires', show: ({ expires_at: at }) => exactTime(at) },
  ],
  empty: html`<p><strong>No invitations are waiting.</strong> An invitation is a mail with a link, by which somebody creates an account, also where people cannot create accounts for themselves.</p>`,
  notices: { created: 'The invitation is on its way.' },
  title: ({ email }) => email,
  people: ({ invited_by: by }) => [by],
  async view({ value, visit, people, deletion }) {
    const { application } = value;
    const names = application === null ? new Map() : await namesOfApplications(visit.api);
    return html`${facts([
      ['Email', html`<bdi>${value.email}</bdi>`],
      ['Role', value.role],
      [
        'Member of',
        application !== null &&
          html`${applicationLink(application.client_id, names)}, as a ${application.role}`,
      ],
      ['Invited by', userLink(value.invited_by, people)],
      ['Sent', exactTime(value.created_at)],
      ['Expires', exactTime(value.expires_at)],
    ])}
${deletion}`;
  },
  create: {
    ...{ submit: 'Send invitation', once: true, fields: fieldsFor },
    async send({ api }, values, { fields }) {
      const { application: named, member_role: memberRole, ...sent } = requestBody(fields, values);
      const name = String(named ?? '');
      if ((name === '') !== (memberRole === null)) {
        throw name === ''
          ? fieldError('application', 'Enter the application of this role, or choose no role in it.')
          : fieldError('member_role', 'Choose a role in the application.');
      }
      const [client_id, ...others] = await clientIdsOf(api, name);
      if (others.length > 0) {
        throw fieldError('application', 'Several applications have this name. Enter a client ID.');
      }
      const application = client_id === undefined ? {} : { application: { client_id, role: memberRole } };
      return api.send<{ id: string }>('POST', API, { ...sent, ...application });
    },
  },
  remove: { lost: 'The link in the mail no longer works. An account that was created with it stays.' },
});
