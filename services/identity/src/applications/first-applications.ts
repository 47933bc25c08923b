import { newId } from '@gatehouse/kit/ids';
import { parseApiKey } from '@gatehouse/tokens/api-key';
import { type ApiKeyStore, apiKeyOf } from './api-key.ts';
import {
  type ApplicationStore,
  type ApplicationType,
  type ClientSecret,
  hashSecret,
  newApplication,
} from './application.ts';

/** An application that is created at the first start with it. */
export type FirstApplication = {
  clientId: string;
  name: string;
  type: ApplicationType;
  /** Kept as a hash; for confidential types. */
  clientSecret?: string;
  /** Kept as a hash. */
  apiKey?: { key: string; scopes: readonly string[] };
  owner: string | null;
  trusted: boolean;
  redirectUris: readonly string[];
  postLogoutRedirectUris?: readonly string[];
  scopes: readonly string[];
};

/** Creates the applications that come with the deployment; what is there already is left as it is. */
export async function createFirstApplications(
  { store, keys }: { store: ApplicationStore; keys: ApiKeyStore },
  drafts: readonly FirstApplication[],
): Promise<void> {
  const now = new Date();
  for (const { clientId, clientSecret, apiKey, ...draft } of drafts) {
    const secret: ClientSecret | undefined =
      clientSecret === undefined
        ? undefined
        : {
            id: newId('sec'),
            hash: hashSecret(clientSecret),
            createdAt: now,
            expiresAt: null,
            lastUsedAt: null,
          };
    await store.insertIfAbsent(newApplication({ ...draft, id: clientId }, secret));
    const parsed = apiKey === undefined ? undefined : parseApiKey(apiKey.key);
    if (apiKey === undefined || parsed === undefined) continue;
    if ((await keys.findByHash(parsed.hash)) !== undefined) continue;
    await keys.insert(
      apiKeyOf(parsed, { clientId, name: 'First key', scopes: apiKey.scopes, lifetime: null }),
    );
  }
}
