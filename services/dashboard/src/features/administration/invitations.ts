import { html } from '@gatehouse/web/html';
import { matching } from '../../api/matching.ts';
import type { ApiPage } from '../../api/pages.ts';
import { exactTime, facts, time, userLink } from '../../pages/parts.ts';
import { resourcePages } from '../../resources/resource-pages.ts';

type Invitation = { id: string; email: string; invited_by: string; created_at: string; expires_at: string };

const API = '/api/v1/invitations';

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
    { title: 'Sent', show: ({ created_at: at }) => time(at) },
    { title: 'Expires', show: ({ expires_at: at }) => exactTime(at) },
  ],
  empty: html`<p><strong>No invitations are waiting.</strong> An invitation is a mail with a link, by which somebody creates an account, also where people cannot create accounts for themselves.</p>`,
  notices: { created: 'The invitation is on its way.' },
  title: ({ email }) => email,
  people: ({ invited_by: by }) => [by],
  view: ({ value, people, deletion }) => html`${facts([
    ['Email', html`<bdi>${value.email}</bdi>`],
    ['Invited by', userLink(value.invited_by, people)],
    ['Sent', exactTime(value.created_at)],
    ['Expires', exactTime(value.expires_at)],
  ])}
${deletion}`,
  fields: [
    {
      name: 'email',
      label: 'Email',
      subject: 'The email address',
      type: 'email',
      required: true,
      hint: 'The mail has a link that works once, for 7 days. The address counts as confirmed when the account is created. Another invitation to the same address replaces this one.',
    },
  ],
  create: { invitation: 'Invite somebody', submit: 'Send invitation', once: true },
  remove: { lost: 'The link in the mail no longer works. An account that was created with it stays.' },
});
