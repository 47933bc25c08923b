import { readSettings } from '@gatehouse/kit/config';
import { resourceSettings } from '@gatehouse/resource/config';

/** Reads the settings of the commerce process; throws a SettingsError. */
export function readCommerceConfig(env: NodeJS.ProcessEnv) {
  return readSettings(resourceSettings('commerce'), env);
}
