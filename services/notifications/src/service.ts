import { invalidFields } from '@gatehouse/api/http/schema';
import {
  createResourceService,
  type ResourceDependencies,
  type ResourceServiceDefinition,
} from '@gatehouse/api/resource/create-resource-service';
import { ServiceError } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { prefixesOf } from '@gatehouse/core/services';
import { runProcess } from '@gatehouse/server/process';
import type { Service } from '@gatehouse/server/service';
import { MAX_POINTS } from './analytics/analytics-query.ts';
import { ANALYTICS_PATHS, createAnalyticsModule } from './analytics/module.ts';
import {
  DEFAULT_ANALYTICS_DAYS,
  DEFAULT_REPORT_DAYS,
  type NotificationsConfig,
  readNotificationsConfig,
  settings,
} from './config.ts';
import { createAnnounce } from './events/announce.ts';
import { createEventsModule, EVENT_PATHS } from './events/module.ts';
import { createIntegrationsModule, INTEGRATION_PATHS, messageProviders } from './integrations/module.ts';
import { createNotificationsModule, NOTIFICATION_PATHS, PUSH_PATHS } from './notifications/module.ts';
import { createQueuesModule, OPERATOR_PATHS } from './queues/module.ts';
import { createReportsModule, REPORT_PATHS } from './reports/module.ts';
import { createRequestsModule } from './requests/module.ts';
import { DEFAULT_REQUEST_LOG } from './requests/request.ts';
import { REQUEST_PATHS } from './requests/request-resource.ts';
import { createWebhooksModule, WEBHOOK_PATHS } from './webhooks/module.ts';

const DEFINITION: ResourceServiceDefinition = {
  name: 'notifications',
  prefixes: prefixesOf('notifications'),
  paths: [
    ...NOTIFICATION_PATHS,
    ...PUSH_PATHS,
    ...REPORT_PATHS,
    ...INTEGRATION_PATHS,
    ...ANALYTICS_PATHS,
    ...OPERATOR_PATHS,
    ...EVENT_PATHS,
    ...WEBHOOK_PATHS,
    ...REQUEST_PATHS,
  ],
  document: {
    title: 'Gatehouse notifications',
    description: `
Messages to people by email, SMS and push; reports; analytics; and the state of the integrations. Editors, admins and
trusted applications use them; people also read what was sent to them.
`.trim(),
    objects: {
      notifications:
        'A notification is a message to a person by email, SMS or push. It is sent in the background, and keeps its attempts and their outcome.',
      'push-subscriptions':
        'A push subscription lets Gatehouse send notifications to a browser (Web Push). A person has one for each browser.',
      reports:
        'A report is a file of data that you can see, such as the orders of a month. It is made in the background, and can then be downloaded.',
      integrations:
        'An integration is an outside service that notifications need, such as a mail server. Its state shows whether it is configured and works.',
      analytics: 'Analytics are figures over time, such as the requests, sign-ins and orders of each day.',
      queues: 'A queue holds work that is done in the background, in lanes. Admins pause and resume a lane.',
      'dead-letters':
        'A dead letter is work that has failed for good. Admins look at the reason, and then replay it or remove it.',
      events:
        'An event is a change that has happened, such as `user.created`. Read the events here if you prefer polling to webhooks.',
      'event-types':
        'An event type is the name of a kind of event, such as `order.created`. Webhooks choose events by these names.',
      webhooks:
        'A webhook is a URL of yours that gets events as signed requests. Each delivery keeps its attempts, and can be sent again.',
      requests:
        'A request is an entry of the request log: one call of the API by an application, with its status and the reason of an error.',
    },
    errorExamples: {
      invalid: invalidFields([{ field: 'user_id', message: 'is not a user' }]),
      not_found: new ServiceError('not_found', 'There is no such notification.'),
      conflict: new ServiceError('conflict', 'This notification is not queued any more.'),
      precondition_failed: new ServiceError(
        'precondition_failed',
        'This notification has been changed meanwhile.',
      ),
    },
  },
};

/** The notifications service: notifications, reports, integrations and analytics. */
export function createNotificationsService(
  config: NotificationsConfig,
  logger: Logger,
  dependencies: ResourceDependencies = {},
): Service {
  const { providers } = config.sending;
  return createResourceService(DEFINITION, config, logger, dependencies, (context) => {
    const { lanes, operate } = createQueuesModule(context);
    const events = createEventsModule(context);
    const announce = createAnnounce(events.take);
    const notifications = createNotificationsModule(context, {
      ...config,
      lanes,
      announce,
      owners: events.owners,
    });
    const keepDays = config.analyticsDays ?? DEFAULT_ANALYTICS_DAYS;
    const { visibleIdsOf } = events.rights;
    const requests = createRequestsModule(context, {
      settings: config.requestLog ?? DEFAULT_REQUEST_LOG,
      ownedBy: visibleIdsOf,
    });
    const analytics = createAnalyticsModule(context, {
      keepDays,
      countNotifications: notifications.count,
      ownedBy: visibleIdsOf,
      takeLog: requests.take,
    });
    const reports = createReportsModule(context, {
      lanes,
      announce,
      origins: {
        users: config.usersUrl,
        commerce: config.commerceUrl,
        notifications: config.notificationsUrl,
      },
      fileDays: config.reportDays ?? DEFAULT_REPORT_DAYS,
      usageDays: Math.min(keepDays.day, MAX_POINTS - 1),
    });
    const webhooks =
      config.webhooks &&
      createWebhooksModule(context, {
        ...config.webhooks,
        events,
        lanes,
      });
    const modules = [
      // First, since it reads which lanes are paused.
      operate([notifications.operated, reports.operated, ...(webhooks?.operated ?? [])]),
      notifications.parts,
      reports.parts,
      createIntegrationsModule(context, {
        others: [
          ...messageProviders(
            notifications.channels,
            (type) => providers.capture !== undefined && providers[type] === undefined,
          ),
          analytics.integration,
        ],
      }),
      analytics.parts,
      events.parts,
      requests.parts,
      ...(webhooks ? [webhooks.parts] : []),
    ];
    return {
      routes(app, routeDependencies) {
        for (const { routes } of modules) routes(app, routeDependencies);
      },
      async prepare() {
        for (const { prepare } of modules) await prepare?.();
      },
      background: modules.flatMap(({ background = [] }) => background),
      expiring: modules.flatMap(({ expiring = [] }) => expiring),
      async erase(...deleted) {
        for (const { erase } of modules) await erase?.(...deleted);
      },
      onRevocation(revocation) {
        for (const { onRevocation } of modules) onRevocation?.(revocation);
      },
      metrics: () => modules.flatMap(({ metrics }) => metrics?.() ?? []),
    };
  });
}

export const program = {
  name: 'notifications',
  settings,
  readConfig: readNotificationsConfig,
  create: createNotificationsService,
} as const;

if (import.meta.main) await runProcess(program);
