import { type ApiApplication, applicationPath } from '../../api/application-types.ts';
import { changes, type RefusedForm, shownFields } from '../../http/changes.ts';
import { errorOf } from '../../pages/fields.ts';
import type { View } from '../../pages/view.ts';
import type { DashboardRouter, Visit } from '../../routes/dashboard-router.ts';
import { applicationView, profileForm } from './application-pages.ts';
import { pathOf, readApplication } from './application-routes.ts';
import { PINS } from './application-texts.ts';

/** Which profiles of the interface an application has pinned. */
export function addApplicationProfileRoutes({ get, post }: DashboardRouter): void {
  get('/applications/:id/profiles', async (visit) => view(visit, await readApplication(visit)));

  post('/applications/:id/profiles', async (visit, fields) => {
    const application = await readApplication(visit);
    const chosen = Object.fromEntries(Object.keys(PINS).map((pin) => [pin, fields.text(pin)]));
    try {
      const changed = changes(fields, chosen, pinsOf(application));
      // A pin that this page does not offer stays as it is.
      const profiles = Object.fromEntries(
        Object.entries({ ...application.profiles, ...changed }).filter(([, profile]) => profile !== ''),
      );
      await visit.api.send('PATCH', applicationPath(application.client_id), { profiles });
      return `${pathOf(application)}/profiles?done=pinned`;
    } catch (error) {
      return view(visit, application, { fields, error: errorOf(error) });
    }
  });
}

/** The pins that the page offers; empty where there is none. */
function pinsOf({ profiles }: ApiApplication): Record<string, string> {
  return Object.fromEntries(Object.keys(PINS).map((pin) => [pin, profiles[pin] ?? '']));
}

function view({ csrf, query }: Visit, application: ApiApplication, refused?: RefusedForm): View {
  const hidden = shownFields(pinsOf(application), refused);
  const target = { action: `${pathOf(application)}/profiles`, csrf, hidden };
  const isDone = refused === undefined && query('done') === 'pinned';
  return applicationView(application, {
    path: '/profiles',
    notice: isDone ? 'The profiles are saved. They apply to new tokens.' : undefined,
    failed: refused !== undefined,
    body: profileForm({ target, pinned: application.profiles, error: refused?.error }),
  });
}
