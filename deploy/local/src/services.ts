import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { ResourceConfig } from '@gatehouse/api/resource/config';
import { createCommerceService } from '@gatehouse/commerce';
import type { Logger } from '@gatehouse/core/logger';
import type { KeyList } from '@gatehouse/core/sealing';
import { DASHBOARD, ERASING_SERVICES, SERVICE_NAMES, type ServiceName } from '@gatehouse/core/services';
import { createDashboardService } from '@gatehouse/dashboard';
import type { Broadcast } from '@gatehouse/events/broadcast';
import type { EventTransport } from '@gatehouse/events/local-events';
import { createIdentityService } from '@gatehouse/identity';
import { createItemsService } from '@gatehouse/items';
import { createNotificationsService } from '@gatehouse/notifications';
import type { Service } from '@gatehouse/server/service';
import { createUsersService } from '@gatehouse/users';
import { OUTBOX_DIRECTORY } from './data-dir.ts';
import { databaseUri } from './database-uri.ts';
import type { Demo } from './demo.ts';
import { firstApplications } from './first-applications.ts';
import type { LocalSettings } from './settings.ts';

const DAY = 86_400;

/**
 * The services of this process, in the order of their start: identity comes first, because the others request tokens and
 * revocations from it.
 */
export function createServices(options: {
  settings: LocalSettings;
  mongoUri: string;
  /** The URL of this process, for requests between the services. */
  ownUrl: string;
  masterKeys: KeyList;
  demo: Demo;
  broadcast: Broadcast;
  events: EventTransport;
  logger: Logger;
}): Service[] {
  const { settings, mongoUri, ownUrl, masterKeys, demo, broadcast, events, logger } = options;
  const { publicUrl, rateLimit } = settings;
  const outbox = join(settings.dataDir, OUTBOX_DIRECTORY);

  const resourceServices: [
    name: Exclude<ServiceName, 'identity' | 'dashboard'>,
    create: (config: ResourceConfig) => Service,
  ][] = [
    [
      'users',
      (config) =>
        createUsersService(
          {
            ...config,
            serviceUrls: Object.fromEntries(ERASING_SERVICES.map((service) => [service, ownUrl])),
            hashConcurrency: 2,
            firstUsers: firstUsers(demo),
            v1Profile: settings.v1Profile,
            v2Profile: settings.v2Profile,
          },
          logger,
          { broadcast, events },
        ),
    ],
    [
      'items',
      (config) =>
        createItemsService({ ...config, defaultProfile: settings.itemsProfile }, logger, {
          broadcast,
          events,
        }),
    ],
    [
      'commerce',
      (config) => createCommerceService({ ...config, usersUrl: ownUrl }, logger, { broadcast, events }),
    ],
    [
      'notifications',
      (config) =>
        createNotificationsService(
          {
            ...config,
            usersUrl: ownUrl,
            commerceUrl: ownUrl,
            notificationsUrl: ownUrl,
            sending: { providers: { ...settings.providers, capture: { directory: outbox } }, slots: 4 },
          },
          logger,
          { broadcast, events },
        ),
    ],
  ];

  // Secrets are used only within this process, so each start generates new ones.
  const clients = resourceServices.map(([id, create]) => ({
    id,
    secret: randomBytes(32).toString('base64url'),
    create,
  }));
  const dashboardSecret = randomBytes(32).toString('base64url');
  const identity = createIdentityService(
    {
      publicUrl,
      mongodbUri: databaseUri(mongoUri, 'identity'),
      usersUrl: ownUrl,
      masterKeys,
      accessTokenAlgorithm: 'ES256',
      lifetimes: { accessToken: 3600, code: 60, refreshToken: 30 * DAY, session: 14 * DAY },
      rotateKeysEveryDays: 90,
      signUp: 'on',
      passwordLogin: 'on',
      auditDays: 365,
      rateLimit,
      services: [
        ...clients.map(({ id, secret }) => ({ id, secret })),
        { id: DASHBOARD, secret: dashboardSecret },
      ],
      mail: settings.accountMail ?? { directory: outbox, onLink: showLink(logger) },
      firstApplications: firstApplications(demo),
    },
    logger,
    { broadcast, events },
  );
  const resources = clients.map(({ id, secret, create }) =>
    create({
      publicUrl,
      mongodbUri: databaseUri(mongoUri, id),
      identityUrl: ownUrl,
      clientSecret: secret,
      rateLimit,
      filtersSunset: settings.filtersSunset,
    }),
  );
  const dashboard = createDashboardService(
    {
      publicUrl,
      mongodbUri: databaseUri(mongoUri, DASHBOARD),
      serviceUrls: Object.fromEntries(SERVICE_NAMES.map((name) => [name, ownUrl])) as Record<
        ServiceName,
        string
      >,
      clientSecret: dashboardSecret,
      masterKeys,
      idleSeconds: DAY / 2,
      sessionSeconds: 7 * DAY,
      rateLimit,
      signUp: 'on',
      sampleData: true,
    },
    logger,
  );
  return [identity, ...resources, dashboard];
}

function firstUsers(demo: Demo) {
  const account = (who: 'admin' | 'user') => {
    const { user_id: id, username, password } = demo[who];
    return { id, username, password, email: `${username}@example.com`, role: who };
  };
  return [account('admin'), account('user')];
}

/** Prints links to a terminal only: whoever reads what was written to a file could use them. The log says where the mail is. */
function showLink(logger: Logger) {
  return ({ to, link, file }: { to: string; link: string; file: string }): void => {
    if (process.stdout.isTTY) process.stdout.write(`\n  Mail to ${to}: ${link}\n\n`);
    else logger.info({ file }, 'a mail with a link is kept in a file');
  };
}
