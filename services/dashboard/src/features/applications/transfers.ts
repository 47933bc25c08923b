import type { Api } from '../../api/api.ts';
import type { ApiApplication } from '../../api/application-types.ts';

/** An application that somebody offers, as the API returns it. */
export type ApiTransfer = {
  id: string;
  sender: { id: string; username: string };
  /** The id of the person who may accept it. */
  to: string;
  expires_at: string;
  application: Pick<
    ApiApplication,
    'client_id' | 'name' | 'type' | 'redirect_uris' | 'scopes' | 'trusted'
  > & {
    grant_types: string[];
  };
};

/** What the person who is signed in has been offered. */
export async function transfersTo(api: Api): Promise<ApiTransfer[]> {
  return (await api.get<{ data: ApiTransfer[] }>('/api/v1/transfers')).data;
}
