import { type ResourceConfig, resourceSettings } from '@gatehouse/api/resource/config';
import { described, integer, readSettings, SettingsError } from '@gatehouse/core/config';
import { messageProviderSettings, messageProvidersOf } from '@gatehouse/server/provider-settings';
import { serviceUrlSetting } from '@gatehouse/server/service-settings';
import type { SendingSettings } from './notifications/sending.ts';

export type NotificationsConfig = ResourceConfig & {
  /** The origins of users, commerce and this service itself as reached from this process. */
  usersUrl: string;
  commerceUrl: string;
  notificationsUrl: string;
  sending: SendingSettings;
  /** How long the files of reports are kept; 7 days by default. */
  reportDays?: number;
  /** For how many days the values of analytics are kept, by their interval; 7, 90 and 730 by default. */
  analyticsDays?: { minute: number; hour: number; day: number };
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
  ...messageProviderSettings,
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
};

/** Reads the settings of the notifications process; throws a SettingsError. */
export function readNotificationsConfig(env: NodeJS.ProcessEnv) {
  const { providers, rest, problems } = messageProvidersOf(readSettings(settings, env));
  if (problems.length > 0) throw new SettingsError(problems);
  const { slots, minuteDays: minute, hourDays: hour, dayDays: day, ...config } = rest;
  return { ...config, analyticsDays: { minute, hour, day }, sending: { providers, slots } };
}
