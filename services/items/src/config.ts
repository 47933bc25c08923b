import { profileSetting, type ResourceConfig, resourceSettings } from '@gatehouse/api/resource/config';
import { readSettings } from '@gatehouse/core/config';
import type { ProfilePins } from '@gatehouse/domain/profile-pins';

export type ItemsConfig = ResourceConfig & {
  /** The profile of the list if neither a pin nor the request decides; offset by default. */
  defaultProfile?: ProfilePins['items'][number];
};

export const settings = {
  ...resourceSettings('items'),
  defaultProfile: profileSetting('ITEMS_DEFAULT_PROFILE', 'items'),
};

/** Reads the settings of the items process; throws a SettingsError. */
export function readItemsConfig(env: NodeJS.ProcessEnv) {
  return readSettings(settings, env);
}
