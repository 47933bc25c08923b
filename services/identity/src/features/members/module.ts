import { createRateLimiter } from '@gatehouse/api/http/rate-limit';
import type { Core } from '../../core/core.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { memberRoutes } from './member-routes.ts';
import { createMembers, INVITED, NAMED_MEMBERS } from './members.ts';

/** Other people who take part in an application. */
export function members(core: Core): IdentityModule {
  const { applicationStore, applicationWrites, extensions, mails, sharedLimits } = core;
  const members = createMembers({
    ...core,
    ...extensions,
    store: applicationStore,
    attempts: createRateLimiter(NAMED_MEMBERS, sharedLimits),
    invited: createRateLimiter(INVITED, sharedLimits),
    notify: (userId, kind, { name }) => void mails.notify(userId, { kind, application: name }),
    notifyLeft: (owner, { name }, by) =>
      void mails.notify(owner, { kind: 'member_left', application: name, by }),
    changed: async (clientId) => {
      const application = await applicationStore.findNow(clientId);
      // Of the epoch that it has: no token ends, and the other services ask again who sees what.
      if (application !== undefined) await applicationWrites.revoke([{ application, over: false }]);
    },
  });
  return { apis: memberRoutes({ ...core, members }) };
}
