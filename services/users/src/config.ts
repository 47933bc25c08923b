import { availableParallelism } from 'node:os';
import {
  date,
  integer,
  oneOf,
  optional,
  origin,
  readSettings,
  SettingsError,
  serverSettings,
  text,
  url,
} from '@gatehouse/kit/config';
import type { NewUser } from './user.ts';

export type UsersConfig = {
  /** The issuer of the tokens that are taken. */
  publicUrl: string;
  mongodbUri: string;
  /** Where identity is reached from here; its keys are fetched from there. */
  identityUrl: string;
  /** As which client this service asks identity for something. */
  clientId: string;
  clientSecret: string;
  /** Where revocations are broadcast, unless the service is given a broadcast. May hold credentials. */
  natsUrl?: string;
  /** How many passwords are hashed or checked at a time. */
  hashConcurrency: number;
  rateLimit: 'on' | 'off';
  /** For how long credentials are taken while nothing is heard of revocations; five minutes by default. */
  staleAfterSeconds?: number;
  /** People who are created at the first start with them. */
  firstUsers: readonly NewUser[];
  /** Which profile answers on /v1/users where neither a pin nor the request says so; A by default. */
  v1Profile?: (typeof V1_PROFILES)[number];
  /** The same for /v2/users; B2 by default. */
  v2Profile?: (typeof V2_PROFILES)[number];
  /** When filters in their deprecated form, without `filter[…]`, are to end; 2027-07-10 by default. */
  filtersSunset?: Date;
};

const V1_PROFILES = ['A', 'E', 'G'] as const;
const V2_PROFILES = ['B1', 'B2'] as const;
/** A year after the deprecation, and nothing is promised to end earlier than that. */
const EARLIEST_SUNSET = '2026-07-10';
const SUNSET = '2027-07-10';

/** What the optional fields of UsersConfig are where they are absent. */
export const USERS_DEFAULTS = {
  v1Profile: 'A',
  v2Profile: 'B2',
  filtersSunset: new Date(SUNSET),
} as const;

const settings = {
  ...serverSettings,
  mongodbUri: url('USERS_MONGODB_URI', ['mongodb:', 'mongodb+srv:']),
  identityUrl: origin('IDENTITY_URL'),
  clientId: text('USERS_CLIENT_ID', 'users'),
  clientSecret: text('USERS_CLIENT_SECRET'),
  natsUrl: url('NATS_URL', ['nats:', 'tls:']),
  hashConcurrency: integer('USERS_HASH_CONCURRENCY', {
    min: 1,
    max: 64,
    default: Math.max(1, Math.min(3, availableParallelism() - 1)),
  }),
  v1Profile: oneOf('USERS_V1_PROFILE', V1_PROFILES, USERS_DEFAULTS.v1Profile),
  v2Profile: oneOf('USERS_V2_PROFILE', V2_PROFILES, USERS_DEFAULTS.v2Profile),
  filtersSunset: date('LEGACY_FILTERS_SUNSET', { min: EARLIEST_SUNSET, default: SUNSET }),
  adminUsername: optional(text('USERS_ADMIN_USERNAME')),
  adminEmail: optional(text('USERS_ADMIN_EMAIL')),
  adminPassword: optional(text('USERS_ADMIN_PASSWORD')),
};

/** Reads the settings of the users process; throws a SettingsError. */
export function readUsersConfig(env: NodeJS.ProcessEnv) {
  const {
    adminUsername: username,
    adminEmail: email,
    adminPassword: password,
    ...config
  } = readSettings(settings, env);
  if (username !== undefined && email !== undefined && password !== undefined) {
    return { ...config, firstUsers: [{ username, email, password, role: 'admin' as const }] };
  }
  if (username !== undefined || email !== undefined || password !== undefined) {
    throw new SettingsError([
      'USERS_ADMIN_USERNAME, USERS_ADMIN_EMAIL and USERS_ADMIN_PASSWORD go together.',
    ]);
  }
  return { ...config, firstUsers: [] };
}
