import { type ApiApplication, applicationPath } from '../../api/application-types.ts';
import { attempt } from '../../api/attempt.ts';
import { type Names, namesOfUsers } from '../../api/names.ts';
import { changes, shownFields } from '../../http/changes.ts';
import { errorOf } from '../../pages/fields.ts';
import { entryOf } from '../../pages/parts.ts';
import type { View } from '../../pages/view.ts';
import type { DashboardRouter, Visit } from '../../routes/dashboard-router.ts';
import { pathOf, readApplication } from './application-routes.ts';
import { type RefusedSettings, settingsPage } from './application-settings-page.ts';
import { currentSettings, currentValues, sentValues, settingsOf } from './application-values.ts';
import type { ApiTransfer } from './transfers.ts';

const NOTICES: Record<string, string> = {
  saved: 'Your changes are saved.',
  created:
    'The application is created. Your code needs its client ID, below. The quick start shows how to use it.',
  offered:
    'The transfer is offered. The application stays yours until the new owner accepts. The offer expires after 7 days.',
  accepted: 'The application is yours. It has no secrets or keys until you create them.',
  trusted: 'The application is trusted. New tokens act with its own scopes.',
  untrusted: 'The trust has ended. Tokens that were issued before no longer work.',
  cancelled: 'The offer is cancelled. The application stays yours.',
};

/** The settings of an application. */
export function addApplicationSettingsRoutes({ get, post }: DashboardRouter): void {
  get('/applications/:id', async (visit) => view(visit, await readApplication(visit)));

  post('/applications/:id', async (visit, fields) => {
    const application = await readApplication(visit);
    const values = sentValues(fields);
    try {
      const sent = settingsOf(values, application.type, application);
      const changed = changes(fields, sent, currentSettings(application));
      if (Object.keys(changed).length > 0) {
        await visit.api.send('PATCH', applicationPath(application.client_id), changed);
      }
      return `${pathOf(application)}?done=saved`;
    } catch (error) {
      const refused = { fields, error: errorOf(error) };
      const hidden = shownFields(currentSettings(application), refused);
      return view(visit, application, { error: refused.error, values, hidden });
    }
  });
}

async function view(visit: Visit, application: ApiApplication, refused?: RefusedSettings): Promise<View> {
  const { api, csrf, person } = visit;
  // Not found when there is none.
  const { value: transfer } = await attempt(
    api.get<ApiTransfer>(`${applicationPath(application.client_id)}/transfer`),
  );
  const ids = [application.owner, application.trusted_by, transfer?.to ?? null];
  const people: Names = person.role === 'user' ? new Map() : await namesOfUsers(api, ids);
  return settingsPage({
    ...{ application, csrf, person, people, transfer, refused },
    values: currentValues(application),
    hidden: shownFields(currentSettings(application)),
    path: pathOf(application),
    notice: refused === undefined ? entryOf(NOTICES, visit.query('done')) : undefined,
  });
}
