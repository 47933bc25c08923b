import type { Applications } from '../applications/applications.ts';
import { hostOf } from '../applications/redirect-uris.ts';
import type { Audit, AuditEntry } from '../audit/audit.ts';
import { ACTING_FIELD, type Acting, actingAllowedBy, type FindActing } from './acting.ts';
import type { OidcStore } from './adapter/oidc-adapter.ts';
import { CLI_CLIENT, CLI_NAME, isFirstParty } from './clients/client-metadata.ts';
import { scopesOfGrant } from './grants.ts';
import type { FindResource, ProtectedResource } from './protected-resource.ts';

/** An application that a person has allowed to use their account. */
export type Authorization = {
  clientId: string;
  name: string;
  /** The hosts of the redirect URIs that received codes or tokens. */
  hosts: string[];
  scopes: string[];
  /** The resources of others that it may use. */
  resources: ProtectedResource[];
  /** The applications that act for the person with its tokens. */
  acting: Acting[];
  since: Date;
};

export type AuthorizedApplications = {
  /** In the order of their names. */
  list(accountId: string): Promise<Authorization[]>;
  /** Ends every grant of the account to the application, and records who did it; returns whether there was one. */
  revoke(
    accountId: string,
    clientId: string,
    by: Pick<AuditEntry, 'origin' | 'actor' | 'details'>,
  ): Promise<boolean>;
};

/** The permissions that people have given to applications. */
export function createAuthorizedApplications(options: {
  store: Pick<OidcStore, 'grantsOf' | 'endGrant'>;
  applications: Pick<Applications, 'find'>;
  findResource: FindResource;
  findActing: FindActing;
  audit: Pick<Audit, 'record'>;
}): AuthorizedApplications {
  const { store, applications } = options;
  return {
    async list(accountId) {
      const byClient = new Map<
        string,
        {
          scopes: string[];
          since: number;
          hosts: ReadonlySet<string>;
          resources: ReadonlySet<string>;
          stamps: readonly string[];
        }
      >();
      for await (const { payload, redirectUri } of store.grantsOf(accountId)) {
        const client = String(payload.clientId);
        if (isOfOwnPages(client)) continue;
        const known = byClient.get(client);
        const ofResources = (payload.resources ?? {}) as Record<string, string>;
        const host = hostOf(redirectUri);
        byClient.set(client, {
          resources: new Set([...(known?.resources ?? []), ...Object.keys(ofResources)]),
          hosts: new Set([...(known?.hosts ?? []), ...(host === undefined ? [] : [host])]),
          stamps: [...(known?.stamps ?? []), ...((payload[ACTING_FIELD] ?? []) as string[])],
          // A person may have as many grants as sessions: what is known already is not repeated.
          scopes: [...new Set([...(known?.scopes ?? []), ...scopesOfGrant(payload)])],
          since: Math.min(known?.since ?? Number.POSITIVE_INFINITY, Number(payload.iat) * 1000),
        });
      }
      const authorizations = await Promise.all(
        [...byClient].map(async ([clientId, { scopes, since, hosts, resources, stamps }]) => {
          const client = await applications.find(clientId);
          const all = await Promise.all([...resources].map((it) => options.findResource(it)));
          const found = all.filter((it) => it !== undefined);
          const acting = stamps.length === 0 ? [] : await options.findActing(found);
          return {
            clientId,
            name: clientId === CLI_CLIENT ? CLI_NAME : (client?.name ?? clientId),
            hosts: [...hosts],
            scopes,
            resources: found,
            acting: actingAllowedBy(stamps, acting),
            since: new Date(since),
          };
        }),
      );
      return authorizations.sort((a, b) => a.name.localeCompare(b.name, 'en'));
    },
    async revoke(accountId, clientId, by) {
      // Our own pages are not in the list: nobody has allowed them.
      if (isOfOwnPages(clientId)) return false;
      let found = false;
      for await (const { id, payload } of store.grantsOf(accountId)) {
        if (payload.clientId !== clientId) continue;
        await store.endGrant(id);
        found = true;
      }
      if (found) {
        await options.audit.record({ ...by, action: 'grant.revoked', subject: accountId, client: clientId });
      }
      return found;
    },
  };
}

/** They end with the session in the browser. */
const isOfOwnPages = (clientId: string) => isFirstParty(clientId) && clientId !== CLI_CLIENT;
