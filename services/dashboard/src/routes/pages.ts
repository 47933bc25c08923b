import { addApplicationOwnershipRoutes } from './application-ownership-routes.ts';
import { addApplicationProfileRoutes } from './application-profile-routes.ts';
import { addApplicationRoutes } from './application-routes.ts';
import { addApplicationSettingsRoutes } from './application-settings-routes.ts';
import { addAuditRoutes } from './audit-routes.ts';
import { addCredentialRoutes } from './credential-routes.ts';
import type { DashboardRouter } from './dashboard-router.ts';
import { addDeadLetterRoutes } from './dead-letter-routes.ts';
import { addItemRoutes } from './item-routes.ts';
import { addNotificationRoutes } from './notification-routes.ts';
import { addOrderRoutes } from './order-routes.ts';
import { addOverviewRoutes } from './overview-routes.ts';
import { addProductRoutes } from './product-routes.ts';
import { addQueueRoutes } from './queue-routes.ts';
import { addQuickStartRoutes } from './quick-start-routes.ts';
import { addReportRoutes } from './report-routes.ts';
import { addSigningKeyRoutes } from './signing-key-routes.ts';
import { addTransferRoutes } from './transfer-routes.ts';
import { addUsageRoutes } from './usage-routes.ts';
import { addUserRoutes } from './user-routes.ts';

/** All pages and forms for those who are signed in. */
export function addPages(pages: DashboardRouter, config: { publicUrl: string; sampleData?: boolean }): void {
  addOverviewRoutes(pages, config);
  addApplicationRoutes(pages);
  addApplicationSettingsRoutes(pages);
  addTransferRoutes(pages);
  addApplicationOwnershipRoutes(pages);
  addApplicationProfileRoutes(pages);
  addCredentialRoutes(pages);
  addQuickStartRoutes(pages, config);
  addUsageRoutes(pages);
  addItemRoutes(pages);
  addProductRoutes(pages);
  addOrderRoutes(pages);
  addUserRoutes(pages);
  addAuditRoutes(pages);
  addSigningKeyRoutes(pages);
  addNotificationRoutes(pages);
  addQueueRoutes(pages);
  addDeadLetterRoutes(pages);
  addReportRoutes(pages);
}
