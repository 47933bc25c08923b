import {
  described,
  integer,
  keys256,
  readSettings,
  type Setting,
  SettingsError,
} from '@gatehouse/core/config';
import type { KeyList } from '@gatehouse/core/sealing';
import { clientSecretSetting, DASHBOARD, SERVICE_NAMES } from '@gatehouse/core/services';
import {
  brandSetting,
  mongodbUriSetting,
  serverSettings,
  serviceAssertionFileSetting,
  serviceSecretSetting,
  serviceUrlSetting,
  signUpSetting,
} from '@gatehouse/server/service-settings';
import { tracingSettings } from '@gatehouse/server/tracing/tracing-settings';
import type { BrandFields } from '@gatehouse/web/branding';
import type { ServiceUrls } from './api/api.ts';

export type DashboardConfig = {
  /** Where browsers reach the deployment, and the issuer of its tokens. */
  publicUrl: string;
  mongodbUri: string;
  /** Whether the migrations of the database are applied at the start; on by default. */
  migrateAtStart?: 'on' | 'off';
  serviceUrls: ServiceUrls;
  /** The secret of the OAuth client `dashboard`, or the file of a token in its place. */
  clientSecret?: string | undefined;
  clientAssertionFile?: string | undefined;
  /** Seal tokens in the sessions, and protect forms. Without the one in use, everybody has to sign in again. */
  masterKeys: KeyList;
  /** How long a session lasts that is not used, and how long at most, in seconds. */
  idleSeconds: number;
  sessionSeconds: number;
  rateLimit: 'on' | 'off';
  /** Whether people may create accounts for themselves, at identity. */
  signUp: 'on' | 'off';
  /** The brand of the pages of identity. */
  brand?: BrandFields | undefined;
  /** Whether an admin may fill an empty deployment with samples: for one that somebody tries out. */
  sampleData?: boolean;
};

const HOUR = 3600;

const urls = Object.fromEntries(
  SERVICE_NAMES.filter((name) => name !== DASHBOARD).map((name) => [name, serviceUrlSetting(name)]),
) as Record<keyof ServiceUrls, Setting<string>>;

const own = {
  ...serverSettings,
  ...tracingSettings,
  mongodbUri: mongodbUriSetting(DASHBOARD),
  clientSecret: serviceSecretSetting(DASHBOARD),
  clientAssertionFile: serviceAssertionFileSetting(DASHBOARD),
  brand: brandSetting,
  signUp: signUpSetting,
  masterKeys: described(
    'The keys that seal tokens in the sessions and the files of imports, and protect forms. The first is used, all are accepted.',
    keys256('DASHBOARD_MASTER_KEY'),
  ),
  idleSeconds: described(
    'How long a session of the dashboard lasts without a request.',
    integer('DASHBOARD_IDLE_SECONDS', { min: 300, max: 24 * HOUR, default: 2 * HOUR }),
  ),
  sessionSeconds: described(
    'How long it lasts at most.',
    integer('DASHBOARD_SESSION_SECONDS', { min: 600, max: 7 * 24 * HOUR, default: 12 * HOUR }),
  ),
};

export const settings = { ...own, ...urls };

/** Reads the settings of the dashboard process; throws a SettingsError. */
export function readDashboardConfig(env: NodeJS.ProcessEnv) {
  const config = { ...readSettings(own, env), serviceUrls: readSettings(urls, env) };
  if (config.clientSecret !== undefined && config.clientSecret.length < 32) {
    throw new SettingsError([
      `The setting ${clientSecretSetting(DASHBOARD)} must have 32 characters or more.`,
    ]);
  }
  return config;
}
