import type { ApiApplication } from '../../api/application-types.ts';
import { errorOf } from '../../pages/fields.ts';
import type { View } from '../../pages/view.ts';
import { type DashboardRouter, notFound, type Visit } from '../../routes/dashboard-router.ts';
import { APPLICATIONS, pathOf } from './application-routes.ts';
import { transferPage } from './transfer-page.ts';
import { transfersTo } from './transfers.ts';

/** An application that somebody offers: accepting and declining it. */
export function addTransferRoutes({ get, post }: DashboardRouter): void {
  get('/transfers/:id', (visit) => view(visit));

  post('/transfers/:id/accept', async (visit) => {
    try {
      const path = `/api/v1/transfers/${visit.id('trf')}/accept`;
      return `${pathOf(await visit.api.send<ApiApplication>('POST', path))}?done=accepted`;
    } catch (error) {
      return view(visit, error);
    }
  });

  post('/transfers/:id/decline', async (visit) => {
    await visit.api.send('POST', `/api/v1/transfers/${visit.id('trf')}/decline`);
    return `${APPLICATIONS}?done=declined`;
  });
}

async function view(visit: Visit, refused?: unknown): Promise<View> {
  const id = visit.id('trf');
  const transfer = (await transfersTo(visit.api)).find((it) => it.id === id);
  if (transfer === undefined) throw notFound();
  const error = refused === undefined ? undefined : errorOf(refused);
  return transferPage({ transfer, path: `/dashboard/transfers/${id}`, csrf: visit.csrf, error });
}
