import { origin, readSettings } from '@gatehouse/kit/config';
import { type ResourceConfig, resourceSettings } from '@gatehouse/resource/config';

export type CommerceConfig = ResourceConfig & {
  /** The origin of users as reached from this process. */
  usersUrl: string;
};

const settings = { ...resourceSettings('commerce'), usersUrl: origin('USERS_URL') };

/** Reads the settings of the commerce process; throws a SettingsError. */
export function readCommerceConfig(env: NodeJS.ProcessEnv) {
  return readSettings(settings, env);
}
