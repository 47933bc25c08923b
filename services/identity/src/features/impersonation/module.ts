import type { Ports } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { impersonationRoutes } from './impersonation-routes.ts';

/** Admins who act as other people for a while. */
export function impersonation(core: Ports<'accounts' | 'tokens'>): IdentityModule {
  return { apis: [impersonationRoutes(core)] };
}
