import type { Ports } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { secretRoutes } from './secret-routes.ts';

/** The API by which people replace the secrets of their applications. */
export function clientSecrets(core: Ports<'applications'>): IdentityModule {
  return { apis: [secretRoutes(core)] };
}
