import type { Ports } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { acceptRoutes } from './accept-routes.ts';
import { INVITATION_PAGE, invitationRoutes } from './invitation-routes.ts';
import { createInvitationStore } from './invitation-store.ts';

/** Accounts for those whom an admin has invited, also where people cannot create accounts for themselves. */
export function invitations(core: Ports<'accounts' | 'applications' | 'pages'>): IdentityModule {
  const store = createInvitationStore(core.connection);
  return {
    apis: [invitationRoutes({ ...core, store })],
    routers: [acceptRoutes({ ...core, store, signUpMethods: core.extensions.signUpMethods })],
    passwordPaths: [INVITATION_PAGE],
    collections: [store.collection],
  };
}
