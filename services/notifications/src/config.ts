import { origin, readSettings } from '@gatehouse/kit/config';
import { type ResourceConfig, resourceSettings } from '@gatehouse/resource/config';

export type NotificationsConfig = ResourceConfig & {
  /** The origin of users as reached from this process. */
  usersUrl: string;
};

const settings = { ...resourceSettings('notifications'), usersUrl: origin('USERS_URL') };

/** Reads the settings of the notifications process; throws a SettingsError. */
export function readNotificationsConfig(env: NodeJS.ProcessEnv) {
  return readSettings(settings, env);
}
