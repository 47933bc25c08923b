import type { ApiApplication } from '../../../api/application-types.ts';
import { errorOf } from '../../../pages/fields.ts';
import { entryOf } from '../../../pages/parts.ts';
import type { View } from '../../../pages/view.ts';
import type { DashboardRouter, Visit } from '../../../routes/dashboard-router.ts';
import { applicationView } from '../application-pages.ts';
import { pathOf, readApplication } from '../application-routes.ts';
import { type Exchange, quickStart, TRIES } from './pages.ts';

/** Longer bodies are cut for the page. */
const MAX_BODY = 4000;

const BOUND =
  'The tokens of this application are bound to its own key (DPoP). The dashboard cannot use them.';

/** How to use an application, and a request to try. */
export function addQuickStartRoutes(
  { get, post }: DashboardRouter,
  { publicUrl }: { publicUrl: string },
): void {
  get('/applications/:id/quick-start', async (visit) =>
    view(visit, await readApplication(visit), { chosen: 'items' }),
  );

  post('/applications/:id/quick-start', async (visit, fields) => {
    const application = await readApplication(visit);
    const chosen = fields.text('request');
    const refuse = (problem: string) => view(visit, application, { chosen, problem });
    const path = entryOf(TRIES, chosen)?.path ?? '/userinfo';
    const began = performance.now();
    const isMachine = application.type === 'machine';
    const credentials = { clientId: application.client_id, clientSecret: fields.text('client_secret') };
    if (isMachine && application.dpop_bound_access_tokens) return refuse(BOUND);
    let tried: Awaited<ReturnType<typeof visit.api.probe>>;
    try {
      tried = await visit.api.probe(path, isMachine ? credentials : undefined);
    } catch (error) {
      return refuse(`The request was not made: ${errorOf(error).message}`);
    }
    if (tried === undefined) return refuse('This is not a valid secret of the application.');
    const exchange = {
      request: `GET ${path} HTTP/1.1\nHost: ${new URL(publicUrl).host}\nAuthorization: Bearer …`,
      status: tried.status,
      ms: Math.round(performance.now() - began),
      body: `${pretty(tried.text).slice(0, MAX_BODY)}`,
    };
    return view(visit, application, { chosen, exchange });
  });

  function view(
    { csrf }: Visit,
    application: ApiApplication,
    shown: { chosen: string; exchange?: Exchange; problem?: string },
  ): View {
    const { client_id: clientId, redirect_uris: uris, scopes } = application;
    const action = `${pathOf(application)}/quick-start`;
    const sample = { base: publicUrl, clientId, redirectUri: uris[0] ?? '', scope: scopes.join(' ') };
    return applicationView(application, {
      path: '/quick-start',
      failed: shown.problem !== undefined,
      body: quickStart({ application, sample, action, csrf, ...shown }),
    });
  }
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
