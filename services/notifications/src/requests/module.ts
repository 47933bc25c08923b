import type { ResourceContext, ResourceParts } from '@gatehouse/api/resource/create-resource-service';
import { mountResource } from '@gatehouse/api/resource/mount-resource';
import type { LoggedRequest as SentRequest } from '@gatehouse/server/usage/usage-batch';
import type { RequestLogSettings } from './request.ts';
import { createRequestResource } from './request-resource.ts';
import { createRequestStore, REQUESTS } from './request-store.ts';

/** The request log: the requests of each application in the last days, and why some failed. */
export function createRequestsModule(
  { connection }: Pick<ResourceContext, 'connection'>,
  options: { settings: RequestLogSettings; ownedBy(userId: string): Promise<readonly string[]> },
) {
  const { settings, ownedBy } = options;
  const store = createRequestStore(connection, settings);
  const parts: ResourceParts = {
    routes(app, { mountOptions }) {
      mountResource(app, createRequestResource({ store, ownedBy, days: settings.days }), mountOptions);
    },
    expiring: [REQUESTS],
  };
  return {
    parts,
    /** Durable when it resolves; what comes again is stored once. */
    take: (service: string, requests: readonly SentRequest[]): Promise<void> =>
      store.add(
        requests.map(({ request_id: requestId, code, actors = [], workload = null, ...request }) => ({
          ...{ ...request, service, requestId, code: code ?? '', actors, workload },
          version: 1,
        })),
      ),
  };
}
