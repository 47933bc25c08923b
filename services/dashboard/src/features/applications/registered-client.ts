import { form } from '@gatehouse/web/form';
import { type Html, html } from '@gatehouse/web/html';
import type { Application } from '../../api/application-types.ts';
import type { Act, ResourceView } from '../../resources/resource.ts';

/** Ends the registration access token of a client (RFC 7592). */
export const endRegistration: Act<Application> = async ({ visit, path, apiPath }) => {
  await visit.api.send('DELETE', `${apiPath}/registration`);
  return `${path}?done=unregistered`;
};

/** A client that changes its own registration, which its owner can end. */
export function registrationSection({ value, visit, path }: ResourceView<Application>): Html {
  const target = { action: `${path}/registration/end`, csrf: visit.csrf };
  return html`<section class="panel"><h2>Registration</h2><p>This client manages its own registration.</p>
${value.role === 'owner' && form(target, html`<div class="buttons"><button class="secondary">End that</button></div>`)}</section>`;
}
