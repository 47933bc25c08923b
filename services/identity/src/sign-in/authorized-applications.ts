import { parseScope } from '@gatehouse/tokens/scopes';
import type { Applications } from '../applications/applications.ts';
import { ACCOUNT_CLIENT } from '../oidc/client-metadata.ts';
import type { OidcStore } from '../oidc/oidc-adapter.ts';

/** An application that a person has allowed to use their account. */
export type Authorization = {
  clientId: string;
  name: string;
  host: string | undefined;
  scopes: string[];
  since: Date;
};

export type AuthorizedApplications = {
  /** In the order of their names. */
  list(accountId: string): Promise<Authorization[]>;
  /** Ends every grant of the account to the application; returns whether there was one. */
  revoke(accountId: string, clientId: string): Promise<boolean>;
};

/** What a person has allowed applications to do, seen from the person's side. */
export function createAuthorizedApplications(options: {
  store: Pick<OidcStore, 'grantsOf' | 'endGrant'>;
  applications: Pick<Applications, 'find'>;
}): AuthorizedApplications {
  const { store, applications } = options;
  return {
    async list(accountId) {
      const grants = await store.grantsOf(accountId);
      const byClient = Map.groupBy(grants, ({ payload }) => String(payload.clientId));
      byClient.delete(ACCOUNT_CLIENT);
      const authorizations = await Promise.all(
        [...byClient].map(async ([clientId, ofClient]) => {
          const client = await applications.find(clientId);
          const scopes = ofClient.map(({ payload }) => (payload.openid as { scope?: string })?.scope ?? '');
          return {
            clientId,
            name: client?.name ?? clientId,
            host: URL.parse(client?.redirectUris[0] ?? '')?.host || undefined,
            scopes: parseScope(scopes.join(' ')),
            since: new Date(Math.min(...ofClient.map(({ payload }) => Number(payload.iat) * 1000))),
          };
        }),
      );
      return authorizations.sort((a, b) => a.name.localeCompare(b.name, 'en'));
    },
    async revoke(accountId, clientId) {
      const grants = await store.grantsOf(accountId);
      const concerned = grants.filter(({ payload }) => payload.clientId === clientId);
      for (const { id } of concerned) await store.endGrant(id);
      return concerned.length > 0;
    },
  };
}
