import type { Account } from '../../core/accounts/account.ts';
import type { AccessSource } from '../../core/authority/standing-access.ts';
import type { Ports } from '../../core/ports.ts';
import { listPrograms } from '../../core/sessions/program-sessions.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { accessRoutes, keptAccessRoutes } from './access-routes.ts';
import { applicationCredentials } from './application-credentials.ts';

/** The list of what acts for a person, and the entries that they keep when they revoke all access. */
export function access(core: Ports<'accounts' | 'applications' | 'sessions'>): IdentityModule {
  const { extensions, sessions, authorizedApplications, authentication } = core;
  const uses = (kind: 'session' | 'login') => (it: Awaited<ReturnType<typeof sessions.list>>[number]) => ({
    ...{ id: it.id, kind, name: it.userAgent ?? null, clientId: null },
    ...{ createdAt: it.createdAt, lastUsedAt: it.lastUsedAt },
  });
  const signedIn: AccessSource<Account> = {
    list: async (account) => [
      ...(await sessions.list(account.id)).map(uses('session')),
      ...(await listPrograms(extensions.programs, account)).map(uses('login')),
      ...(await authorizedApplications.list(account.id)).map(({ clientId, name, since }) => {
        return { id: clientId, kind: 'consent' as const, name, clientId, createdAt: since, lastUsedAt: null };
      }),
    ],
  };
  const { own, elsewhere, trusted } = applicationCredentials({
    ...{ ...core, store: core.applicationStore },
    applicationKeys: extensions.applicationKeys,
  });
  const sources = extensions.access;
  return {
    apis: [accessRoutes({ ...core, sources })],
    routers: [keptAccessRoutes({ ...core, sources, authenticate: authentication.authenticateService })],
    extensions: { access: [signedIn, own, elsewhere, trusted] },
  };
}
