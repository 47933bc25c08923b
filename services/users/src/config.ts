import { availableParallelism } from 'node:os';
import { profileSetting, type ResourceConfig, resourceSettings } from '@gatehouse/api/resource/config';
import {
  described,
  integer,
  optional,
  readSettings,
  requireTogether,
  type Setting,
  SettingsError,
  secret,
  text,
} from '@gatehouse/core/config';
import { ERASING_SERVICES, type ServiceName } from '@gatehouse/core/services';
import { PROFILE_PINS, type ProfilePins } from '@gatehouse/domain/profile-pins';
import {
  breachedPasswordsSetting,
  freshSignInSetting,
  serviceUrlSetting,
} from '@gatehouse/server/service-settings';
import type { NewUser } from './user.ts';

export type UsersConfig = ResourceConfig & {
  /** Where the services are reached that erase what they hold about deleted people. Those that are left out do not learn of them. */
  serviceUrls?: Readonly<Partial<Record<ServiceName, string>>>;
  /** The number of passwords that are hashed or checked at a time. */
  hashConcurrency: number;
  /** The memory of one hash; 19 MiB by default. Not a setting: only tests that are not about hashes take less. */
  hashMemoryKiB?: number;
  /** Whether a change of somebody else's account takes a sign-in of the last five minutes; off by default. */
  freshSignIn?: 'on' | 'off';
  /** The source of breached passwords (see breached-passwords.ts); none by default. */
  breachedPasswordsUrl?: string | undefined;
  /** Users to create at the first start. */
  firstUsers: readonly NewUser[];
  /** Which profile answers on /v1/users where neither a pin nor the request says so; A by default. */
  v1Profile?: ProfilePins['v1_users'][number];
  /** The same for /v2/users; B2 by default. */
  v2Profile?: ProfilePins['v2_users'][number];
};

/** The defaults of the optional fields of UsersConfig. */
export const USERS_DEFAULTS = {
  v1Profile: PROFILE_PINS.v1_users[0],
  v2Profile: PROFILE_PINS.v2_users[0],
} as const;

const urls = Object.fromEntries(ERASING_SERVICES.map((name) => [name, serviceUrlSetting(name)])) as Partial<
  Record<ServiceName, Setting<string>>
>;

const own = {
  ...resourceSettings('users'),
  hashConcurrency: {
    ...described(
      'How many passwords are hashed or checked at a time.',
      integer('USERS_HASH_CONCURRENCY', {
        min: 1,
        max: 64,
        default: Math.max(1, Math.min(3, availableParallelism() - 1)),
      }),
    ),
    fallback: 'the number of processors less one, from 1 to 3',
  },
  freshSignIn: freshSignInSetting,
  breachedPasswordsUrl: breachedPasswordsSetting,
  v1Profile: profileSetting('USERS_V1_PROFILE', 'v1_users'),
  v2Profile: profileSetting('USERS_V2_PROFILE', 'v2_users'),
  adminUsername: described(
    'The username of an admin to create at the first start. The three `USERS_ADMIN_…` are set together.',
    optional(text('USERS_ADMIN_USERNAME')),
  ),
  adminEmail: described('The email address of this admin.', optional(text('USERS_ADMIN_EMAIL'))),
  adminPassword: described('The password of this admin.', optional(secret('USERS_ADMIN_PASSWORD'))),
};

export const settings = { ...own, ...urls };

/** Reads the settings of the users process; throws a SettingsError. */
export function readUsersConfig(env: NodeJS.ProcessEnv) {
  const {
    adminUsername: username,
    adminEmail: email,
    adminPassword: password,
    ...values
  } = readSettings(own, env);
  const config = { ...values, serviceUrls: { identity: values.identityUrl, ...readSettings(urls, env) } };
  const problems = requireTogether({
    USERS_ADMIN_USERNAME: username,
    USERS_ADMIN_EMAIL: email,
    USERS_ADMIN_PASSWORD: password,
  });
  if (problems.length > 0) throw new SettingsError(problems);
  if (username === undefined || email === undefined || password === undefined) {
    return { ...config, firstUsers: [] };
  }
  return { ...config, firstUsers: [{ username, email, password, role: 'admin' as const }] };
}
