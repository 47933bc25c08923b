import { form } from '@gatehouse/web/form';
import { type Html, html } from '@gatehouse/web/html';
import type { Target } from '../../resources/resource.ts';
import { hasRole } from '../../sessions/session.ts';
import type { ApiUser } from './user-list.ts';

/** The actions beside the heading of a user, for other admins. */
export function userActions({ value: user, visit, path }: Target<ApiUser>): Html | false {
  const { csrf, person } = visit;
  if (!hasRole(person, 'admin') || user.id === person.id) return false;
  if (user.status !== 'active') {
    return form(
      { action: `${path}/activate`, csrf },
      html`<button class="primary">Activate account</button>`,
    );
  }
  return html`${user.role !== 'admin' && html`<a class="secondary" href="${path}/impersonate">Act as this user</a>`}
${user.email !== null && html`<a class="secondary" href="${path}/password-reset">Send a link for a new password</a>`}
<a class="button danger" href="${path}/deactivate">Deactivate (block) account</a>`;
}
