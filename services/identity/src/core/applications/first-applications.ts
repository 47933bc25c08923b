import { type ApplicationStore, clientSecretOf, newApplication } from './application.ts';
import type { ApplicationKeys } from './application-keys.ts';

/** An application that is created at the first start that names it. */
export type FirstApplication = Omit<Parameters<typeof newApplication>[0], 'id'> & {
  clientId: string;
  /** Stored as a hash; for confidential types. */
  clientSecret?: string;
  /** Stored as a hash. */
  apiKey?: { key: string; scopes: readonly string[] };
};

/** Creates the applications that come with the deployment, except those that exist. */
export async function createFirstApplications(
  store: Pick<ApplicationStore, 'insertIfAbsent'>,
  keys: readonly Pick<ApplicationKeys, 'createFirst'>[],
  applications: readonly FirstApplication[],
): Promise<void> {
  for (const application of applications) {
    const { clientId, clientSecret, apiKey: _, ...draft } = application;
    const secret = clientSecret === undefined ? undefined : clientSecretOf(clientSecret);
    await store.insertIfAbsent(newApplication({ ...draft, id: clientId }, secret));
    for (const { createFirst } of keys) await createFirst(application);
  }
}
