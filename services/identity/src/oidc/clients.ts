import type { AdapterPayload } from 'oidc-provider';
import type { Application } from '../applications/application.ts';
import { ACCOUNT_CLIENT, accountClientMetadata, clientMetadata, serviceMetadata } from './client-metadata.ts';

/** Finds the clients that oidc-provider serves: our own services, our account pages, and applications. */
export function createFindClient(options: {
  issuer: string;
  acceptsService(id: string, secret: string): boolean | undefined;
  findApplication(id: string): Promise<Application | undefined>;
}): (id: string) => Promise<AdapterPayload | undefined> {
  const { issuer, acceptsService, findApplication } = options;
  return async (id) => {
    if (acceptsService(id, '') !== undefined) return serviceMetadata(id);
    if (id === ACCOUNT_CLIENT) return accountClientMetadata(issuer);
    const application = await findApplication(id);
    return application && clientMetadata(application);
  };
}
