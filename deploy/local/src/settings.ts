import { resolve } from 'node:path';
import { integer, oneOf, optional, origin, readSettings, text, url } from '@gatehouse/kit/config';
import { filtersSunsetSetting, profileSetting } from '@gatehouse/resource/config';

const settings = {
  port: integer('PORT', { min: 1, max: 65535, default: 3000 }),
  host: text('HOST', '127.0.0.1'),
  dataDir: text('DATA_DIR', '.data'),
  publicUrl: optional(origin('PUBLIC_URL')),
  mongodbUri: optional(url('MONGODB_URI', ['mongodb:', 'mongodb+srv:'])),
  v1Profile: profileSetting('USERS_V1_PROFILE', 'v1_users'),
  v2Profile: profileSetting('USERS_V2_PROFILE', 'v2_users'),
  itemsProfile: profileSetting('ITEMS_DEFAULT_PROFILE', 'items'),
  filtersSunset: filtersSunsetSetting,
  rateLimit: oneOf('RATE_LIMIT', ['on', 'off'], 'on'),
  logLevel: optional(oneOf('LOG_LEVEL', ['debug', 'info', 'warn', 'error'])),
};

const jobsSettings = {
  dataDir: settings.dataDir,
  url: optional(origin('GATEHOUSE_URL')),
  token: optional(text('GATEHOUSE_TOKEN')),
};

/** Reads the settings of `npm run jobs`; throws a SettingsError. */
export function readJobsSettings(env: NodeJS.ProcessEnv) {
  const { dataDir, ...rest } = readSettings(jobsSettings, env);
  return { ...rest, dataDir: resolve(dataDir) };
}

export type LocalSettings = ReturnType<typeof readLocalSettings>;

/** Reads the settings of `npm start`; throws a SettingsError. */
export function readLocalSettings(env: NodeJS.ProcessEnv) {
  const { publicUrl, dataDir, ...rest } = readSettings(settings, env);
  return { ...rest, dataDir: resolve(dataDir), publicUrl: publicUrl ?? `http://localhost:${rest.port}` };
}
