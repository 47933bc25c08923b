import type { Ports } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { consentRoutes } from './consent-routes.ts';

/** The API by which people see and end what they have allowed applications. */
export function consents(core: Ports<'accounts' | 'applications'>): IdentityModule {
  return { apis: [consentRoutes(core)] };
}
