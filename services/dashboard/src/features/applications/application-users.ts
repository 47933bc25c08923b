import { html } from '@gatehouse/web/html';
import type { Application } from '../../api/application-types.ts';
import { type ApiPage, cursorOf } from '../../api/pages.ts';
import { time } from '../../pages/parts.ts';
import { type Column, table } from '../../pages/table.ts';
import type { Part, Resource } from '../../resources/resource.ts';

/** Somebody who has allowed an application to use their account, as the API returns it. */
type ApplicationUser = {
  user_id: string;
  name: string | null;
  email: string | null;
  scopes: readonly string[];
  allowed_since: string;
  last_allowed_at: string;
};

const LIMIT = 50;
/** Types of applications that nobody signs in to. */
const WITHOUT_USERS: readonly string[] = ['machine', 'resource'];

/** The people who have allowed an application to use their account. */
export const applicationUsers: Part<Application> = {
  title: 'Users',
  isShown: ({ type }) => !WITHOUT_USERS.includes(type),
  notices: { ended: 'The access is ended. The user is asked again at the next sign-in.' },
  async view({ visit, value, path, apiPath }) {
    const cursor = visit.query('cursor');
    const page = await visit.api.get<ApiPage<ApplicationUser>>(`${apiPath}/users`, { cursor, limit: LIMIT });
    const next = cursorOf(page.links?.next);
    const columns: Column<ApplicationUser>[] = [
      {
        title: 'User',
        show: (it) =>
          html`<bdi>${it.name ?? it.email}</bdi>${(it.name ?? it.email) !== null && html`<br>`}<code class="below">${it.user_id}</code>`,
      },
      { title: 'Allowed', show: (it) => it.scopes.join(' ') },
      { title: 'Since', show: (it) => time(it.allowed_since) },
      { title: 'Last allowed', show: (it) => time(it.last_allowed_at) },
    ];
    if (value.role !== 'viewer') {
      columns.push({
        title: 'Access',
        show: (it) =>
          html`<a class="button danger" href="${`${path}/users/${encodeURIComponent(it.user_id)}/end`}" aria-label="${`End the access to the account of ${it.name ?? it.user_id}`}">End</a>`,
      });
    }
    return html`<p>The people who have allowed this application to use their accounts. You see a name or an email address only where the person has allowed it.</p>
${page.data.length === 0 ? html`<p class="empty"><strong>Nobody uses this application yet.</strong> The <a href="${path}/quick-start">quick start</a> shows how people sign in.</p>` : table(columns, page.data)}
${next !== undefined && html`<nav class="pager" aria-label="Pages"><a class="button secondary" href="${`${path}/users?cursor=${encodeURIComponent(next)}`}">Next page</a></nav>`}`;
  },
};

export const applicationUserQuestions: NonNullable<Resource<Application>['confirmed']> = {
  async 'users/:user/end'({ visit, value, path, apiPath }) {
    const id = visit.param('user');
    return {
      title: `End the access of “${value.name}” to this account?`,
      lost: html`<p>The tokens that the application has for <code>${id}</code> stop working at once. The person stays signed in elsewhere, and is asked again at the next sign-in to the application.</p>`,
      submit: 'End access',
      async act() {
        await visit.api.send('DELETE', `${apiPath}/users/${encodeURIComponent(id)}`);
        return `${path}/users?done=ended`;
      },
    };
  },
};
