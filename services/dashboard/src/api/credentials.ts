import type { Api } from './api.ts';
import type { ApiKey, ApiSecret, FederatedCredential } from './application-types.ts';

/** The client secrets of the application at a path in the API. */
export const secretsOf = async (api: Api, apiPath: string) =>
  (await api.get<{ data: ApiSecret[] }>(`${apiPath}/secrets`)).data;

/** Its API keys. */
export const keysOf = async (api: Api, apiPath: string) =>
  (await api.get<{ data: ApiKey[] }>(`${apiPath}/api-keys`)).data;

/** Its federated credentials. */
export const federatedOf = async (api: Api, apiPath: string) =>
  (await api.get<{ data: FederatedCredential[] }>(`${apiPath}/federated-credentials`)).data;
