import { parseApiKey } from '@gatehouse/tokens/api-key';
import { type ApiKeyStore, apiKeyOf } from './api-key.ts';
import { type ApplicationStore, clientSecretOf, lastFourOf, newApplication } from './application.ts';

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
  { store, keys }: { store: ApplicationStore; keys: ApiKeyStore },
  drafts: readonly FirstApplication[],
): Promise<void> {
  for (const { clientId, clientSecret, apiKey, ...draft } of drafts) {
    const secret = clientSecret === undefined ? undefined : clientSecretOf(clientSecret);
    await store.insertIfAbsent(newApplication({ ...draft, id: clientId }, secret));
    const parsed = apiKey === undefined ? undefined : parseApiKey(apiKey.key);
    if (apiKey === undefined || parsed === undefined) continue;
    if ((await keys.findByHash(parsed.hash)) !== undefined) continue;
    await keys.insert(
      apiKeyOf(
        { ...parsed, lastFour: lastFourOf(apiKey.key) },
        {
          ...{ clientId, owner: draft.owner, name: 'First key' },
          ...{ scopes: apiKey.scopes, lifetime: null },
        },
      ),
    );
  }
}
