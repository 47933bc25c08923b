import type { Ports } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { sessionRoutes } from './session-routes.ts';

/** The API by which people see and end where they are signed in. */
export function sessions(core: Ports<'accounts' | 'sessions'>): IdentityModule {
  const { programs } = core.extensions;
  return { apis: [sessionRoutes({ ...core, programs })] };
}
