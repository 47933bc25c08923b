import { resolve } from 'node:path';
import { described, oneOf, optional, origin, readSettings, text, url } from '@gatehouse/core/config';
import { serverSettings } from '@gatehouse/server/service-settings';
import { tracingSettings } from '@gatehouse/server/tracing/tracing-settings';

/** The settings of `npm start` itself. Those of the services are read by services.ts. */
export const settings = {
  port: serverSettings.port,
  host: described('The address to listen on.', text('HOST', '127.0.0.1')),
  dataDir: described(
    'The directory of accounts, keys and credentials. `npm run reset` removes it.',
    text('DATA_DIR', '.data'),
  ),
  publicUrl: described(
    'The issuer of all tokens, and the base of every URL that is handed out.',
    optional(origin('PUBLIC_URL'), 'http://localhost:PORT'),
  ),
  mongodbUri: described(
    'A MongoDB to use instead of one of its own.',
    optional(url('MONGODB_URI', ['mongodb:', 'mongodb+srv:'])),
  ),
  logLevel: described(
    'The lowest level of messages that are logged.',
    optional(oneOf('LOG_LEVEL', ['debug', 'info', 'warn', 'error']), 'warn in a terminal, else info'),
  ),
};

export type LocalSettings = ReturnType<typeof readLocalSettings>;

/** Reads the settings of `npm start`, beside those of the services; throws a SettingsError. */
export function readLocalSettings(env: NodeJS.ProcessEnv) {
  const { publicUrl, dataDir, ...rest } = readSettings({ ...settings, ...tracingSettings }, env);
  return {
    ...rest,
    dataDir: resolve(dataDir),
    publicUrl: publicUrl ?? `http://localhost:${rest.port}`,
  };
}
