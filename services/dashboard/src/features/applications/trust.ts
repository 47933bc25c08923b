import { type Html, html } from '@gatehouse/web/html';
import { ApiError } from '../../api/api-error.ts';
import type { Application } from '../../api/application-types.ts';
import { lastUseText, time, userLink } from '../../pages/parts.ts';
import type { ResourceQuestion, ResourceView, Target } from '../../resources/resource.ts';
import { notFound } from '../../routes/visit.ts';

/** The question before a machine acts with its own scopes, or no longer does; or before another admin answers for it. */
export function askToTrust({ visit, value, path, apiPath }: Target<Application>): ResourceQuestion {
  const { name, type, scopes, updated_at: version } = value;
  const isTakenOver = visit.ctx.path.endsWith('/take-over-trust');
  const trusted = value.trusted && !isTakenOver;
  if (type !== 'machine') throw notFound();
  if (visit.person.role !== 'admin') throw new ApiError(403, 'Only an admin can trust an application.');
  return {
    title: trusted
      ? `End the trust in “${name}”?`
      : `${isTakenOver ? 'Take over the trust in' : 'Trust'} the application “${name}”?`,
    lost: trusted
      ? html`<p>Its tokens stop working at once, and new tokens have its owner’s role. The application was ${lastUseText(value)}.</p>`
      : html`<p>The application acts with its own scopes, <strong>${scopes.join(' ')}</strong>, and no longer with its owner’s role. Anybody who has its secret can read and change the data of all users within these scopes. The application was ${lastUseText(value)}.</p>
<p>Your name and the time are recorded. The trust ends if its owner is deactivated or loses their role, or you are no admin any more.</p>`,
    submit: trusted ? 'End trust' : isTakenOver ? 'Take over the trust' : 'Trust application',
    // The change that the page describes is made, also if another admin was faster.
    hidden: { trusted: trusted ? 'no' : 'yes', version },
    async act(fields) {
      const next = fields.required('trusted') === 'yes';
      // Its owner may have given it other scopes, or another owner, since.
      if (next && fields.required('version') !== version) {
        throw new ApiError(
          409,
          'The application was changed meanwhile. Check its scopes, and confirm again.',
        );
      }
      await visit.api.send('PATCH', apiPath, { trusted: next, ...(next ? { scopes } : {}) });
      return `${path}?done=${next ? 'trusted' : 'untrusted'}`;
    },
  };
}

/** Whether a machine acts in its own right: everybody sees it, and admins decide it. */
export function trustSection({ value, visit, path, people }: ResourceView<Application>): Html {
  const { trusted, trusted_by: by, trusted_at: at } = value;
  const { role } = visit.person;
  const grantor = by === null ? 'the operator' : role === 'user' ? 'an admin' : userLink(by, people);
  return html`<section class="panel" id="trust"><h2>Trust</h2>
<p>${
    trusted
      ? html`This application is trusted: it acts with its own scopes, and not with its owner’s role. Trust was granted by ${grantor}, ${time(at, 'when it was set up')}.`
      : 'This application acts with its owner’s role: it can read and change only the data that its owner can. A trusted application acts with its own scopes instead, like a server that you run yourself.'
  }</p>
${
  role === 'admin'
    ? html`<p><a class="button ${trusted ? 'danger' : 'secondary'}" href="${path}/trust">${trusted ? 'End trust' : 'Trust application'}</a>${trusted && by !== visit.person.id && html` <a class="button secondary" href="${path}/take-over-trust">Take over the trust</a>`}</p>`
    : html`<p class="hint">Only an admin can make an application trusted.</p>`
}</section>`;
}
