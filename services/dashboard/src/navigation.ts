import { auditLog } from './features/administration/audit-log.ts';
import { addDeadLetterRoutes } from './features/administration/dead-letters.ts';
import { addQueueRoutes } from './features/administration/queues.ts';
import { addSigningKeyRoutes } from './features/administration/signing-keys.ts';
import { users } from './features/administration/users.ts';
import { addApplicationOwnershipRoutes } from './features/applications/application-ownership-routes.ts';
import { addApplicationProfileRoutes } from './features/applications/application-profile-routes.ts';
import { addApplicationRoutes } from './features/applications/application-routes.ts';
import { addApplicationSettingsRoutes } from './features/applications/application-settings-routes.ts';
import { addCredentialRoutes } from './features/applications/credential-routes.ts';
import { addQuickStartRoutes } from './features/applications/quick-start/routes.ts';
import { addTransferRoutes } from './features/applications/transfer-routes.ts';
import { addUsageRoutes } from './features/applications/usage-routes.ts';
import { items } from './features/data/items.ts';
import { notifications } from './features/data/notifications.ts';
import { orders } from './features/data/orders.ts';
import { products } from './features/data/products.ts';
import { addOverviewRoutes } from './features/overview/overview.ts';
import { reports } from './features/reports/reports.ts';
import type { DashboardRouter, Section } from './routes/dashboard-router.ts';

type Config = { publicUrl: string; sampleData?: boolean };

/** The sections of the dashboard, in the order of the navigation. */
export function dashboardSections(config: Config): [heading: string, sections: Section[]][] {
  const addPagesOfApplications = (router: DashboardRouter) => {
    addApplicationRoutes(router);
    addApplicationSettingsRoutes(router);
    addTransferRoutes(router);
    addApplicationOwnershipRoutes(router);
    addApplicationProfileRoutes(router);
    addCredentialRoutes(router);
    addQuickStartRoutes(router, config);
    addUsageRoutes(router);
  };
  const admin = 'admin';
  return [
    [
      'Develop',
      [
        { name: 'overview', title: 'Overview', addRoutes: (router) => addOverviewRoutes(router, config) },
        { name: 'applications', title: 'Applications', addRoutes: addPagesOfApplications },
        reports,
      ],
    ],
    ['Data', [items, products, orders, notifications]],
    [
      'Administer',
      [
        users,
        auditLog,
        { name: 'signing-keys', title: 'Signing keys', role: admin, addRoutes: addSigningKeyRoutes },
        { name: 'queues', title: 'Queues', role: admin, addRoutes: addQueueRoutes },
        { name: 'dead-letters', title: 'Dead letters', role: admin, addRoutes: addDeadLetterRoutes },
      ],
    ],
  ];
}
