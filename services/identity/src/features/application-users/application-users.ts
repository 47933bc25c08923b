import { ServiceError } from '@gatehouse/core/errors';
import { createCounts } from '@gatehouse/data/counts';
import type { KeysetPage, ListSource, Rows } from '@gatehouse/domain/list-query';
import type { Account } from '../../core/accounts/account.ts';
import type { Application } from '../../core/applications/application.ts';
import type { Applications } from '../../core/applications/applications.ts';
import type { Manager } from '../../core/applications/ownership.ts';
import type { OidcStore } from '../../core/oidc/adapter/oidc-adapter.ts';
import type { AuthorizedApplications } from '../../core/oidc/authorized-applications.ts';
import { scopesOfGrant } from '../../core/oidc/grants.ts';

/** Somebody who has allowed an application to use their account: as much of them as it may read now, by its scopes and by what they allowed. */
export type ApplicationUser = {
  id: string;
  name: string | null;
  email: string | null;
  scopes: string[];
  /** When they allowed it first, and last. */
  since: Date;
  lastAllowedAt: Date;
};

export type ApplicationUsers = {
  /** In the order of their ids. */
  source(manager: Manager, clientId: string): Promise<ListSource<'id', ApplicationUser>>;
  /** Ends what somebody has allowed the application. Throws `not_found` if that is nothing. */
  remove(manager: Manager, clientId: string, userId: string): Promise<void>;
};

const NAMED_BY = ['profile', 'read:profile'];

export function createApplicationUsers(options: {
  store: Pick<OidcStore, 'grantsOfClient' | 'countAccounts'>;
  applications: Pick<Applications, 'read'>;
  accounts: { find(id: string): Promise<Account | undefined> };
  authorizedApplications: Pick<AuthorizedApplications, 'revoke'>;
}): ApplicationUsers {
  const { store, applications, accounts } = options;
  const counts = createCounts();

  async function shown({ id, scopes, times }: Granted): Promise<ApplicationUser> {
    const account = await accounts.find(id);
    const may = (...names: string[]) => names.some((name) => scopes.has(name));
    return {
      id,
      name: may(...NAMED_BY) ? (account?.name ?? null) : null,
      email: may('email') ? (account?.email ?? null) : null,
      scopes: [...scopes].sort(),
      since: new Date(Math.min(...times)),
      lastAllowedAt: new Date(Math.max(...times)),
    };
  }

  async function page(
    { id: clientId, scopes: readable }: Pick<Application, 'id' | 'scopes'>,
    { limit, from }: KeysetPage,
  ): Promise<Rows<ApplicationUser>> {
    const isReverse = from?.direction === 'previous';
    const inclusive = from?.inclusive === true;
    const found: Granted[] = [];
    for await (const grant of store.grantsOfClient(clientId, {
      accountId: from?.position.id,
      inclusive,
      isReverse,
    })) {
      if (found.at(-1)?.id !== grant.accountId) {
        // One more shows whether there is another page.
        if (found.length > limit) break;
        found.push({ id: grant.accountId, scopes: new Set(), times: [] });
      }
      const last = found.at(-1);
      for (const scope of scopesOfGrant(grant.payload)) if (readable.includes(scope)) last?.scopes.add(scope);
      last?.times.push(Number(grant.payload.iat) * 1000);
    }
    const hasMore = found.length > limit;
    const people = found.slice(0, limit);
    const items = await Promise.all((isReverse ? people.reverse() : people).map(shown));
    const at = (id: string | undefined) => (id === undefined ? undefined : { value: null, id });
    const [first, last] = [at(items[0]?.id), at(items.at(-1)?.id)];
    return {
      items,
      ...(first && { first }),
      ...(last && { last }),
      hasNext: isReverse ? from !== undefined : hasMore,
      hasPrevious: isReverse ? hasMore : from !== undefined,
    };
  }

  return {
    async source(manager, clientId) {
      const application = await applications.read(manager, clientId);
      return {
        byOffset: () => {
          throw new TypeError('the users of an application are listed by cursor');
        },
        byKeyset: (_query, asked) => page(application, asked),
        count: () => counts.count(clientId, () => store.countAccounts(clientId)),
      };
    },

    async remove(manager, clientId, userId) {
      await applications.read(manager, clientId, 'developer');
      const { id: actor, origin, clientId: by } = manager;
      const isRevoked = await options.authorizedApplications.revoke(userId, clientId, {
        ...{ origin, actor, details: { by } },
      });
      if (!isRevoked)
        throw new ServiceError('not_found', 'This user has not allowed the application anything.');
    },
  };
}

/** The grants of one person. */
type Granted = { id: string; scopes: Set<string>; times: number[] };
