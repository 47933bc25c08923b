import type { Core } from '../../core/core.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { activityOf } from './activity.ts';
import { auditRoutes } from './audit-routes.ts';

/** The API by which admins read the audit log. */
export function auditLog(core: Core): IdentityModule {
  return {
    apis: [auditRoutes({ ...core, store: core.auditStore })],
    extensions: { personalData: [{ name: 'activity', rows: activityOf(core.auditStore) }] },
  };
}
