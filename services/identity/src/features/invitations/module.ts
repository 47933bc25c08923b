import type { Ports } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { acceptRoutes } from './accept-routes.ts';
import { INVITATION_PAGE, invitationRoutes } from './invitation-routes.ts';
import { createInvitationStore } from './invitation-store.ts';
import { createMembershipOffers } from './membership-offers.ts';

/** Accounts for those whom an admin has invited, also where people cannot create accounts for themselves. */
export function invitations(core: Ports<'accounts' | 'applications' | 'pages'>): IdentityModule {
  const store = createInvitationStore(core.connection);
  const offers = createMembershipOffers(core);
  return {
    apis: [invitationRoutes({ ...core, store, offers })],
    routers: [acceptRoutes({ ...core, store, offers, signUpMethods: core.extensions.signUpMethods })],
    passwordPaths: [INVITATION_PAGE],
    collections: [store.collection],
  };
}
