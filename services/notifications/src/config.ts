import { integer, origin, readSettings } from '@gatehouse/kit/config';
import { type ResourceConfig, resourceSettings } from '@gatehouse/resource/config';

export type NotificationsConfig = ResourceConfig & {
  /** The origin of users as reached from this process. */
  usersUrl: string;
  /** For how many days the values of analytics are kept, by their interval; 7, 90 and 730 by default. */
  analyticsDays?: { minute: number; hour: number; day: number };
  /** How often values are added up, in milliseconds; every 2 seconds, minute and 5 minutes by default. */
  analyticsPausesMs?: { minute: number; hour: number; day: number };
};

export const DEFAULT_ANALYTICS_DAYS = { minute: 7, hour: 90, day: 730 };

const settings = {
  ...resourceSettings('notifications'),
  usersUrl: origin('USERS_URL'),
  // The lower bounds are longer than it takes until the values are added up into the next interval for the last time.
  minuteDays: integer('ANALYTICS_MINUTE_DAYS', { min: 2, max: 60, default: DEFAULT_ANALYTICS_DAYS.minute }),
  hourDays: integer('ANALYTICS_HOUR_DAYS', { min: 3, max: 1000, default: DEFAULT_ANALYTICS_DAYS.hour }),
  dayDays: integer('ANALYTICS_DAY_DAYS', { min: 3, max: 10_000, default: DEFAULT_ANALYTICS_DAYS.day }),
};

/** Reads the settings of the notifications process; throws a SettingsError. */
export function readNotificationsConfig(env: NodeJS.ProcessEnv) {
  const { minuteDays: minute, hourDays: hour, dayDays: day, ...config } = readSettings(settings, env);
  return { ...config, analyticsDays: { minute, hour, day } };
}
