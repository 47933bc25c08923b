import { createRateLimiter } from '@gatehouse/api/http/rate-limit';
import type { Ports } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { memberRoutes } from './member-routes.ts';
import { createMembers, INVITED, NAMED_MEMBERS } from './members.ts';

/** Other people who take part in an application. */
export function members(core: Ports<'accounts' | 'applications'>): IdentityModule {
  const { applicationStore, applicationWrites, extensions, sharedLimits } = core;
  const members = createMembers({
    ...core,
    ...extensions,
    store: applicationStore,
    attempts: createRateLimiter(NAMED_MEMBERS, sharedLimits),
    invited: createRateLimiter(INVITED, sharedLimits),
    changed: async (clientId) => {
      const application = await applicationStore.findNow(clientId);
      // Of the epoch that it has: no token ends, and the other services ask again who sees what.
      if (application !== undefined) await applicationWrites.revoke([{ application, over: false }]);
    },
  });
  return { apis: memberRoutes({ ...core, members }) };
}
