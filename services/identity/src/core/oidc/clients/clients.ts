import type { AdapterPayload } from 'oidc-provider';
import type { Applications } from '../../applications/applications.ts';
import {
  ACCOUNT_CLIENT,
  accountClientMetadata,
  clientMetadata,
  DASHBOARD_CLIENT,
  dashboardClientMetadata,
  serviceMetadata,
} from './client-metadata.ts';

/** Finds the clients that oidc-provider serves: our own services, our account pages, and applications. */
export function createFindClient(options: {
  issuer: string;
  acceptsService(id: string, secret: string): boolean | undefined;
  applications: Pick<Applications, 'find'>;
}): (id: string) => Promise<AdapterPayload | undefined> {
  const { issuer, acceptsService, applications } = options;
  return async (id) => {
    if (acceptsService(id, '') !== undefined) {
      return id === DASHBOARD_CLIENT ? dashboardClientMetadata(issuer) : serviceMetadata(id);
    }
    if (id === ACCOUNT_CLIENT) return accountClientMetadata(issuer);
    const application = await applications.find(id);
    return application && clientMetadata(application);
  };
}
