import type { Ports } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { activityOf, auditRoutes } from './audit-routes.ts';

/** The API by which admins read the audit log. */
export function auditLog(core: Ports<'applications'>): IdentityModule {
  return {
    apis: [auditRoutes({ ...core, store: core.auditStore })],
    extensions: { personalData: [{ name: 'activity', rows: activityOf(core.auditStore) }] },
  };
}
