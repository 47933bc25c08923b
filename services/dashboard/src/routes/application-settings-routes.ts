import { type ApiApplication, applicationPath } from '../api/application-types.ts';
import { type Names, namesOfUsers } from '../api/names.ts';
import { changes, shownFields } from '../http/changes.ts';
import { isConfirmed } from '../pages/application-pages.ts';
import { type RefusedForm, settingsPage } from '../pages/application-settings-page.ts';
import { refusalOf } from '../pages/fields.ts';
import { entryOf } from '../pages/parts.ts';
import type { View } from '../pages/view.ts';
import { APPLICATIONS, pathOf, readApplication } from './application-routes.ts';
import { currentSettings, currentValues, sentValues, settingsOf } from './application-values.ts';
import type { DashboardRouter, Visit } from './dashboard-router.ts';

const NOTICES: Record<string, string> = {
  saved: 'Your changes are saved.',
  created: 'The application is created. The quick start shows how to use it.',
  trusted: 'The machine is trusted. Tokens that it gets from now on act in its own right.',
  untrusted: 'The trust has ended, and the tokens that rested on it.',
};

/** The settings of an application: changing them, trusting, transferring and deleting it. */
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
      const refused = { fields, error: refusalOf(error) };
      const hidden = shownFields(currentSettings(application), refused);
      return view(visit, application, { of: 'settings', error: refused.error, values, hidden });
    }
  });

  post('/applications/:id/trust', async (visit, fields) => {
    const application = await readApplication(visit);
    const trusted = fields.text('trusted') === 'yes';
    try {
      await visit.api.send('PATCH', applicationPath(application.client_id), { trusted });
      return `${pathOf(application)}?done=${trusted ? 'trusted' : 'untrusted'}`;
    } catch (error) {
      return view(visit, application, { of: 'trust', error: refusalOf(error) });
    }
  });

  post('/applications/:id/transfer', async (visit, fields) => {
    const application = await readApplication(visit);
    try {
      const to = fields.text('to');
      await visit.api.send('POST', `${applicationPath(application.client_id)}/transfer`, { to });
      return `${APPLICATIONS}?done=transferred`;
    } catch (error) {
      return view(visit, application, { of: 'transfer', error: refusalOf(error) });
    }
  });

  post('/applications/:id/delete', async (visit, fields) => {
    const application = await readApplication(visit);
    if (!isConfirmed(fields, application.name)) {
      return view(visit, application, { of: 'deletion' });
    }
    await visit.api.send('DELETE', applicationPath(application.client_id));
    return `${APPLICATIONS}?done=deleted`;
  });
}

async function view(visit: Visit, application: ApiApplication, refused?: RefusedForm): Promise<View> {
  const { api, csrf, person } = visit;
  const people: Names =
    person.role === 'user' ? new Map() : await namesOfUsers(api, [application.owner, application.trusted_by]);
  return settingsPage({
    ...{ application, csrf, person, people, refused },
    values: currentValues(application),
    hidden: shownFields(currentSettings(application)),
    path: pathOf(application),
    notice: refused === undefined ? entryOf(NOTICES, visit.query('done')) : undefined,
  });
}
