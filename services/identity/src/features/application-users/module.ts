import type { Ports } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { applicationUserRoutes } from './application-user-routes.ts';
import { createApplicationUsers } from './application-users.ts';

/** The people who have allowed an application to use their account, for its owner. */
export function applicationUsers(core: Ports<'accounts' | 'applications' | 'tokens'>): IdentityModule {
  const users = createApplicationUsers({ ...core, accounts: core.accountCache });
  return { apis: [applicationUserRoutes({ ...core, users })] };
}
