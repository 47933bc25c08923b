import { auditLog } from './resources/audit-log.ts';
import { items } from './resources/items.ts';
import { notifications } from './resources/notifications.ts';
import { orders } from './resources/orders.ts';
import { products } from './resources/products.ts';
import { reports } from './resources/reports.ts';
import { users } from './resources/users.ts';
import { addApplicationOwnershipRoutes } from './routes/application-ownership-routes.ts';
import { addApplicationProfileRoutes } from './routes/application-profile-routes.ts';
import { addApplicationRoutes } from './routes/application-routes.ts';
import { addApplicationSettingsRoutes } from './routes/application-settings-routes.ts';
import { addCredentialRoutes } from './routes/credential-routes.ts';
import type { DashboardRouter, Section } from './routes/dashboard-router.ts';
import { addDeadLetterRoutes } from './routes/dead-letter-routes.ts';
import { addOverviewRoutes } from './routes/overview-routes.ts';
import { addQueueRoutes } from './routes/queue-routes.ts';
import { addQuickStartRoutes } from './routes/quick-start-routes.ts';
import { addSigningKeyRoutes } from './routes/signing-key-routes.ts';
import { addTransferRoutes } from './routes/transfer-routes.ts';
import { addUsageRoutes } from './routes/usage-routes.ts';

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
