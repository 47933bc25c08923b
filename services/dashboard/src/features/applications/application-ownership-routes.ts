import { html } from '@gatehouse/web/html';
import { ApiError } from '../../api/api-error.ts';
import { type ApiApplication, applicationPath } from '../../api/application-types.ts';
import { textField } from '../../pages/fields.ts';
import { lastUseText } from '../../pages/parts.ts';
import { addConfirmed } from '../../resources/confirmed.ts';
import { deletionQuestion } from '../../resources/deletion.ts';
import { type DashboardRouter, notFound } from '../../routes/dashboard-router.ts';
import { APPLICATIONS, pathOf, readApplication } from './application-routes.ts';
import { LOST_WITH_APPLICATION } from './application-settings-page.ts';
import type { ApiTransfer } from './transfers.ts';

const TRAIL = [{ href: APPLICATIONS, title: 'Applications' }];

/** What decides about an application as a whole: trusting, transferring and deleting it. Each asks first. */
export function addApplicationOwnershipRoutes(router: DashboardRouter): void {
  const common = (application: ApiApplication) => ({
    section: 'applications' as const,
    trail: [...TRAIL, { href: pathOf(application), title: application.name }],
    back: pathOf(application),
  });

  addConfirmed(router, '/applications/:id/trust', async (visit) => {
    const application = await readApplication(visit);
    const { client_id: id, name, type, scopes, trusted, updated_at: version } = application;
    if (type !== 'machine') throw notFound();
    if (visit.person.role !== 'admin') throw new ApiError(403, 'Only an admin can trust an application.');
    return {
      ...common(application),
      title: trusted ? `End the trust in “${name}”?` : `Trust the application “${name}”?`,
      lost: trusted
        ? html`<p>Its tokens stop working at once, and new tokens have its owner’s role. The application was ${lastUseText(application)}.</p>`
        : html`<p>The application will act with its own scopes, <strong>${scopes.join(' ')}</strong>, and no longer with its owner’s role. Anybody who has its secret can read and change the data of all users within these scopes. The application was ${lastUseText(application)}.</p>
<p>Your name and the time are recorded. The trust ends if its owner is deactivated or loses their role.</p>`,
      submit: trusted ? 'End trust' : 'Trust application',
      // What the page says is what is done, also if another admin was faster.
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
        await visit.api.send('PATCH', applicationPath(id), { trusted: next, ...(next ? { scopes } : {}) });
        return `${pathOf(application)}?done=${next ? 'trusted' : 'untrusted'}`;
      },
    };
  });

  addConfirmed(router, '/applications/:id/transfer', async (visit, sent) => {
    const application = await readApplication(visit);
    const { client_id: id, name } = application;
    return {
      ...{ ...common(application), name, title: `Transfer “${name}”?` },
      lost: html`<p>The new owner has 7 days to accept. If you change the application before, the offer ends. When they accept, you lose access to the application, and its client secrets, API keys, tokens and the permissions that people gave it end. The new owner creates new secrets and keys. The application was ${lastUseText(application)}.</p>`,
      fields: textField({
        ...{ name: 'to', label: 'New owner', required: true, value: sent?.fields.text('to') ?? '' },
        hint: 'Their username, confirmed email address, or user ID.',
        problems: sent?.error?.details ?? [],
      }),
      names: ['to'],
      submit: 'Transfer application',
      async act(fields) {
        const result = await visit.api.send<ApiApplication | ApiTransfer>(
          'POST',
          `${applicationPath(id)}/transfer`,
          { to: fields.text('to') },
        );
        // An admin who names themselves has it at once.
        return `${pathOf(application)}?done=${'application' in result ? 'offered' : 'accepted'}`;
      },
    };
  });

  router.post('/applications/:id/transfer/cancel', async (visit) => {
    const application = await readApplication(visit);
    await visit.api.send('DELETE', `${applicationPath(application.client_id)}/transfer`);
    return `${pathOf(application)}?done=cancelled`;
  });

  addConfirmed(router, '/applications/:id/delete', async (visit) => {
    const application = await readApplication(visit);
    const { client_id: id, name } = application;
    const lost = html`${LOST_WITH_APPLICATION} The application was ${lastUseText(application)}.`;
    const { section, trail } = { ...common(application), trail: TRAIL };
    return {
      ...deletionQuestion({ path: pathOf(application), noun: 'application', name, lost, section, trail }),
      async act() {
        await visit.api.send('DELETE', applicationPath(id));
        return `${APPLICATIONS}?done=deleted`;
      },
    };
  });
}
