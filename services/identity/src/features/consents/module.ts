import type { Core } from '../../core/core.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { consentRoutes } from './consent-routes.ts';

/** The API by which people see and end what they have allowed applications. */
export function consents(core: Core): IdentityModule {
  return { apis: [consentRoutes(core)] };
}
