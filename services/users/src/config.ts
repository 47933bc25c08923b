import { availableParallelism } from 'node:os';
import {
  integer,
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
};

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
