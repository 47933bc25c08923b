import type { BrandFields } from '@gatehouse/web/branding';
import { auditLog } from './features/administration/audit-log.ts';
import { branding } from './features/administration/branding.ts';
import { deadLetters } from './features/administration/dead-letters.ts';
import { identityProviders } from './features/administration/identity-providers.ts';
import { invitations } from './features/administration/invitations.ts';
import { queues } from './features/administration/queues.ts';
import { signingKeys } from './features/administration/signing-keys.ts';
import { trustedIssuers } from './features/administration/trusted-issuers.ts';
import { users } from './features/administration/users.ts';
import { applications } from './features/applications/applications.ts';
import { invitationNotice } from './features/applications/memberships.ts';
import { rateLimits } from './features/applications/rate-limits.ts';
import { registrationTokens } from './features/applications/registration-tokens.ts';
import { requests } from './features/applications/requests.ts';
import { resources } from './features/applications/resources.ts';
import { items } from './features/data/items.ts';
import { notifications } from './features/data/notifications.ts';
import { orders } from './features/data/orders.ts';
import { products } from './features/data/products.ts';
import { overview } from './features/overview/overview.ts';
import { reports } from './features/reports/reports.ts';
import { webhooks } from './features/webhooks/webhooks.ts';
import type { Section } from './routes/dashboard-router.ts';

type Config = {
  publicUrl: string;
  rateLimit?: 'on' | 'off';
  sampleData?: boolean;
  brand?: BrandFields | undefined;
};

/** The sections of the dashboard, in the order of the navigation. */
export function dashboardSections(config: Config): [heading: string, sections: Section[]][] {
  return [
    [
      'Develop',
      [
        overview({ ...config, invitationNotice }),
        applications(config),
        webhooks,
        requests,
        rateLimits(config),
        auditLog,
        resources(config),
        registrationTokens,
      ],
    ],
    [
      'Administer',
      [
        users,
        invitations,
        identityProviders(config),
        trustedIssuers,
        branding(config),
        signingKeys,
        queues,
        deadLetters,
      ],
    ],
    ['Data', [orders, products, items, notifications, reports]],
  ];
}
