import { resolve } from 'node:path';
import { date, integer, oneOf, optional, origin, readSettings, text, url } from '@gatehouse/kit/config';

const settings = {
  port: integer('PORT', { min: 1, max: 65535, default: 3000 }),
  host: text('HOST', '127.0.0.1'),
  dataDir: text('DATA_DIR', '.data'),
  publicUrl: optional(origin('PUBLIC_URL')),
  mongodbUri: optional(url('MONGODB_URI', ['mongodb:', 'mongodb+srv:'])),
  natsUrl: optional(url('NATS_URL', ['nats:', 'tls:'])),
  v1Profile: oneOf('USERS_V1_PROFILE', ['A', 'E', 'G'], 'A'),
  v2Profile: oneOf('USERS_V2_PROFILE', ['B1', 'B2'], 'B2'),
  filtersSunset: date('LEGACY_FILTERS_SUNSET', { min: '2026-07-10', default: '2027-07-10' }),
  rateLimit: oneOf('RATE_LIMIT', ['on', 'off'], 'on'),
  logLevel: optional(oneOf('LOG_LEVEL', ['debug', 'info', 'warn', 'error'])),
};

export type LocalSettings = ReturnType<typeof readLocalSettings>;

/** Reads the settings of `npm start`; throws a SettingsError. */
export function readLocalSettings(env: NodeJS.ProcessEnv) {
  const { publicUrl, dataDir, ...rest } = readSettings(settings, env);
  return { ...rest, dataDir: resolve(dataDir), publicUrl: publicUrl ?? `http://localhost:${rest.port}` };
}
