import type { Core } from '../../core/core.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { secretRoutes } from './secret-routes.ts';

/** The API by which people replace the secrets of their applications. */
export function clientSecrets(core: Core): IdentityModule {
  return { apis: [secretRoutes(core)] };
}
