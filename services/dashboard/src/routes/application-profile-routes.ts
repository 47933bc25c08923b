import type { ApiError } from '../api/api-error.ts';
import { type ApiApplication, applicationPath } from '../api/application-types.ts';
import { applicationView, profileForm } from '../pages/application-pages.ts';
import { PINS } from '../pages/application-texts.ts';
import { refusalOf } from '../pages/fields.ts';
import type { View } from '../pages/view.ts';
import { pathOf, readApplication } from './application-routes.ts';
import type { DashboardRouter, Visit } from './dashboard-router.ts';

/** Which profiles of the interface an application has pinned. */
export function addApplicationProfileRoutes({ get, post }: DashboardRouter): void {
  get('/applications/:id/profiles', async (visit) => view(visit, await readApplication(visit)));

  post('/applications/:id/profiles', async (visit, fields) => {
    const application = await readApplication(visit);
    const chosen = Object.keys(PINS).map((pin) => [pin, fields.text(pin)] as const);
    // A pin that this page does not offer stays as it is.
    const profiles = Object.fromEntries([
      ...Object.entries(application.profiles).filter(([pin]) => PINS[pin] === undefined),
      ...chosen.filter(([, profile]) => profile !== ''),
    ]);
    try {
      await visit.api.send('PATCH', applicationPath(application.client_id), { profiles });
      return `${pathOf(application)}/profiles?done=pinned`;
    } catch (error) {
      return view(visit, application, refusalOf(error));
    }
  });
}

function view({ csrf, query }: Visit, application: ApiApplication, error?: ApiError): View {
  const action = `${pathOf(application)}/profiles`;
  const isDone = error === undefined && query('done') === 'pinned';
  return applicationView(application, {
    path: '/profiles',
    notice: isDone ? 'The profiles are saved. Tokens that are issued from now on have them.' : undefined,
    failed: error !== undefined,
    body: profileForm({ action, csrf, pinned: application.profiles, error }),
  });
}
