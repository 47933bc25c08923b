import { type ResourceConfig, resourceSettings } from '@gatehouse/api/resource/config';
import {
  addresses,
  described,
  integer,
  keys256,
  oneOf,
  optional,
  readSettings,
  requireTogether,
  SettingsError,
  secret,
  text,
  url,
} from '@gatehouse/core/config';
import { serviceUrlSetting } from '@gatehouse/server/service-settings';
import type { SendingSettings } from './notifications/sending.ts';
import { DEFAULT_REQUEST_LOG, type RequestLogSettings } from './requests/request.ts';
import { DEFAULT_BACKLOG } from './webhooks/backlogs.ts';
import type { WebhookSettings } from './webhooks/settings.ts';

export type NotificationsConfig = ResourceConfig & {
  /** The origins of users, commerce and this service itself as reached from this process. */
  usersUrl: string;
  commerceUrl: string;
  notificationsUrl: string;
  sending: SendingSettings;
  /** Without them there are no webhooks. */
  webhooks?: WebhookSettings;
  /** How long the files of reports are kept; 7 days by default. */
  reportDays?: number;
  /** For how many days the values of analytics are kept, by their interval; 7, 90 and 730 by default. */
  analyticsDays?: { minute: number; hour: number; day: number };
  /** By default as DEFAULT_REQUEST_LOG. */
  requestLog?: RequestLogSettings;
};

export const DEFAULT_REPORT_DAYS = 7;
export const DEFAULT_ANALYTICS_DAYS = { minute: 7, hour: 90, day: 730 };

export const settings = {
  ...resourceSettings('notifications'),
  usersUrl: serviceUrlSetting('users'),
  commerceUrl: serviceUrlSetting('commerce'),
  notificationsUrl: serviceUrlSetting('notifications'),
  reportDays: described(
    'For how many days the files of reports are kept.',
    integer('NOTIFICATIONS_REPORT_DAYS', { min: 1, max: 365, default: DEFAULT_REPORT_DAYS }),
  ),
  slots: described(
    'How many messages of each type a process sends at a time. With 0 it only serves the API.',
    integer('NOTIFICATIONS_SLOTS', { min: 0, max: 1000, default: 16 }),
  ),
  smtpUrl: described(
    'The server that sends notifications of type `email`. Without it, they are refused.',
    optional(url('NOTIFICATIONS_SMTP_URL', ['smtp:', 'smtps:'])),
    'smtps://user:password@smtp.example.com',
  ),
  mailFrom: described(
    'The sender of these emails. Set together with `NOTIFICATIONS_SMTP_URL`.',
    optional(text('NOTIFICATIONS_MAIL_FROM')),
    'Gatehouse <no-reply@example.com>',
  ),
  smsUrl: described(
    'The gateway for the type `sms`, with its credentials. It must have the API of Twilio.',
    optional(url('NOTIFICATIONS_SMS_URL', ['https:', 'http:'])),
    'https://ACCOUNT:TOKEN@api.twilio.com/2010-04-01/Accounts/ACCOUNT/Messages.json',
  ),
  smsFrom: described(
    'The sender of these messages. Set together with `NOTIFICATIONS_SMS_URL`.',
    optional(text('NOTIFICATIONS_SMS_FROM')),
    '+15005550006',
  ),
  vapidKey: described(
    'The key for the type `push` (Web Push): a private P-256 key, 32 bytes in base64url. docs/guides/deploy-with-docker.md ' +
      'says how to make one.',
    optional(secret('NOTIFICATIONS_VAPID_PRIVATE_KEY')),
  ),
  vapidSubject: described(
    'A `mailto:` or `https:` address for the operators of push services. Set together with the key.',
    optional(text('NOTIFICATIONS_VAPID_SUBJECT')),
    'mailto:ops@example.com',
  ),
  pushToPrivateNetworks: described(
    'Whether push subscriptions may lead to private networks.',
    oneOf('NOTIFICATIONS_PUSH_TO_PRIVATE_NETWORKS', ['on', 'off'], 'off'),
  ),
  masterKeys: described(
    'The keys that encrypt the secrets of webhooks. The first is used, all are accepted, and at the start secrets under the others are encrypted ' +
      'again. Keep a copy apart from the database: without it all webhooks need new secrets.',
    keys256('NOTIFICATIONS_MASTER_KEY'),
  ),
  webhookNetworks: described(
    'Private networks in which webhooks may have endpoints. Public addresses need no entry.',
    addresses('NOTIFICATIONS_WEBHOOK_NETWORKS'),
  ),
  webhookSlots: described(
    'How many deliveries to webhooks a process makes at a time. With 0 it makes none.',
    integer('NOTIFICATIONS_WEBHOOK_SLOTS', { min: 0, max: 2000, default: 256 }),
  ),
  webhookBacklog: described(
    'How many deliveries to the webhooks of an owner may be pending. Beyond that, requests for more get 429, and the webhook with the most ' +
      'is paused.',
    integer('NOTIFICATIONS_WEBHOOK_BACKLOG', { min: 100, max: 1_000_000, default: DEFAULT_BACKLOG }),
  ),
  // The lower bounds are longer than usage may be late.
  minuteDays: described(
    'For how many days analytics are kept by minute.',
    integer('ANALYTICS_MINUTE_DAYS', { min: 2, max: 60, default: DEFAULT_ANALYTICS_DAYS.minute }),
  ),
  hourDays: described(
    'For how many days analytics are kept by hour.',
    integer('ANALYTICS_HOUR_DAYS', { min: 3, max: 1000, default: DEFAULT_ANALYTICS_DAYS.hour }),
  ),
  dayDays: described(
    'For how many days analytics are kept by day.',
    integer('ANALYTICS_DAY_DAYS', { min: 3, max: 10_000, default: DEFAULT_ANALYTICS_DAYS.day }),
  ),
  requestLogDays: described(
    'For how many days the request log keeps the requests of applications.',
    integer('NOTIFICATIONS_REQUEST_LOG_DAYS', { min: 1, max: 90, default: DEFAULT_REQUEST_LOG.days }),
  ),
  requestLogRows: described(
    'How many requests of each application the log keeps, of some 500 bytes each; the oldest go first.',
    integer('NOTIFICATIONS_REQUEST_LOG_ROWS', {
      min: 100,
      max: 1_000_000,
      default: DEFAULT_REQUEST_LOG.rows,
    }),
  ),
  requestLogSuccessPercent: described(
    'The share of successful requests that the log keeps, in percent. Failed requests are all kept.',
    integer('NOTIFICATIONS_REQUEST_LOG_SUCCESS_PERCENT', {
      min: 0,
      max: 100,
      default: DEFAULT_REQUEST_LOG.successPercent,
    }),
  ),
};

/** Reads the settings of the notifications process; throws a SettingsError. */
export function readNotificationsConfig(env: NodeJS.ProcessEnv) {
  const { smtpUrl, mailFrom, smsUrl, smsFrom, vapidKey, vapidSubject, pushToPrivateNetworks, ...values } =
    readSettings(settings, env);
  const problems = [
    ...requireTogether({ NOTIFICATIONS_SMTP_URL: smtpUrl, NOTIFICATIONS_MAIL_FROM: mailFrom }),
    ...requireTogether({ NOTIFICATIONS_SMS_URL: smsUrl, NOTIFICATIONS_SMS_FROM: smsFrom }),
    ...requireTogether({
      NOTIFICATIONS_VAPID_PRIVATE_KEY: vapidKey,
      NOTIFICATIONS_VAPID_SUBJECT: vapidSubject,
    }),
  ];
  const sms = smsUrl === undefined ? undefined : URL.parse(smsUrl);
  const isLocal = sms?.hostname === 'localhost' || sms?.hostname === '127.0.0.1';
  if (sms === null || (sms?.protocol === 'http:' && !isLocal)) {
    problems.push('NOTIFICATIONS_SMS_URL must be an https URL, unless it leads to this machine.');
  }
  if (vapidKey !== undefined && !/^[\w-]{43}$/.test(vapidKey)) {
    problems.push('NOTIFICATIONS_VAPID_PRIVATE_KEY must be 32 bytes in base64url.');
  }
  if (vapidSubject !== undefined && !/^(?:mailto:|https:\/\/)\S+$/.test(vapidSubject)) {
    problems.push('NOTIFICATIONS_VAPID_SUBJECT must begin with mailto: or https://.');
  }
  const toPrivateNetworks = pushToPrivateNetworks === 'on';
  const providers = {
    ...(smtpUrl !== undefined && mailFrom !== undefined ? { email: { smtpUrl, from: mailFrom } } : {}),
    ...(smsUrl !== undefined && smsFrom !== undefined ? { sms: { url: smsUrl, from: smsFrom } } : {}),
    ...(vapidKey !== undefined && vapidSubject !== undefined
      ? { push: { privateKey: vapidKey, subject: vapidSubject, toPrivateNetworks } }
      : {}),
  };
  if (problems.length > 0) throw new SettingsError(problems);
  const { slots, minuteDays: minute, hourDays: hour, dayDays: day, ...others } = values;
  const { requestLogDays, requestLogRows, requestLogSuccessPercent, ...rest } = others;
  const { masterKeys, webhookNetworks: networks, webhookSlots, webhookBacklog, ...config } = rest;
  return {
    ...config,
    analyticsDays: { minute, hour, day },
    sending: { providers, slots },
    requestLog: {
      days: requestLogDays,
      rows: requestLogRows,
      successPercent: requestLogSuccessPercent,
    },
    webhooks: { masterKeys, networks, slots: webhookSlots, backlog: webhookBacklog },
  };
}
