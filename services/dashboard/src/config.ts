import {
  integer,
  keys256,
  origin,
  readSettings,
  type Setting,
  SettingsError,
  serverSettings,
  text,
  url,
} from '@gatehouse/kit/config';
import type { KeyList } from '@gatehouse/kit/sealing';
import { clientSecretSetting, DASHBOARD, SERVICE_NAMES } from '@gatehouse/kit/services';
import type { ServiceUrls } from './api/api.ts';

export type DashboardConfig = {
  /** Where browsers reach the deployment, and the issuer of its tokens. */
  publicUrl: string;
  mongodbUri: string;
  serviceUrls: ServiceUrls;
  /** The secret of the OAuth client `dashboard`. */
  clientSecret: string;
  /** Seal tokens in the sessions, and protect forms. Without the one in use, everybody has to sign in again. */
  masterKeys: KeyList;
  /** How long a session lasts that is not used, and how long at most, in seconds. */
  idleSeconds: number;
  sessionSeconds: number;
  rateLimit: 'on' | 'off';
};

const HOUR = 3600;

const settings = {
  ...serverSettings,
  mongodbUri: url('DASHBOARD_MONGODB_URI', ['mongodb:', 'mongodb+srv:']),
  clientSecret: text(clientSecretSetting(DASHBOARD)),
  masterKeys: keys256('DASHBOARD_MASTER_KEY'),
  idleSeconds: integer('DASHBOARD_IDLE_SECONDS', { min: 300, max: 24 * HOUR, default: 2 * HOUR }),
  sessionSeconds: integer('DASHBOARD_SESSION_SECONDS', { min: 600, max: 7 * 24 * HOUR, default: 12 * HOUR }),
};

const urls = Object.fromEntries(
  SERVICE_NAMES.filter((name) => name !== DASHBOARD).map((name) => [
    name,
    origin(`${name.toUpperCase()}_URL`),
  ]),
) as Record<keyof ServiceUrls, Setting<string>>;

/** Reads the settings of the dashboard process; throws a SettingsError. */
export function readDashboardConfig(env: NodeJS.ProcessEnv) {
  const config = { ...readSettings(settings, env), serviceUrls: readSettings(urls, env) };
  if (config.clientSecret.length < 32) {
    throw new SettingsError([
      `The setting ${clientSecretSetting(DASHBOARD)} must have 32 characters or more.`,
    ]);
  }
  return config;
}
