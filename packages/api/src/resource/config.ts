import { date, described, oneOf, type Setting, type SettingValues } from '@gatehouse/core/config';
import type { ServiceName } from '@gatehouse/core/services';
import { PROFILE_PINS, type ProfilePins } from '@gatehouse/domain/profile-pins';
import {
  mongodbUriSetting,
  natsUrlSetting,
  serverSettings,
  serviceAssertionFileSetting,
  serviceSecretSetting,
  serviceUrlSetting,
} from '@gatehouse/server/service-settings';
import { tracingSettings } from '@gatehouse/server/tracing/tracing-settings';

/** One year after the deprecation of filters without brackets: they are promised to work until then. */
const EARLIEST_SUNSET = '2026-07-10';
const SUNSET = '2027-07-10';

/** The sunset date of filters in their deprecated form, without `filter[…]`. */
export const filtersSunsetSetting = described(
  'The day on which filters without `filter[…]` end, as responses to them announce.',
  date('LEGACY_FILTERS_SUNSET', { min: EARLIEST_SUNSET, default: SUNSET }),
);

/** The paths that a pin applies to, as documents name them. */
const PATHS: Record<keyof ProfilePins, string> = {
  v1_users: '`/v1/users`',
  v2_users: '`/v2/users`',
  items: 'lists at `/api/v1/items`',
  userinfo: '`/userinfo`',
};

/** The profile of a shared path if neither a pin nor the request decides. */
export function profileSetting<P extends keyof ProfilePins>(
  name: string,
  pin: P,
): Setting<ProfilePins[P][number]> {
  const profiles: readonly ProfilePins[P][number][] = PROFILE_PINS[pin];
  return described(
    `The profile of ${PATHS[pin]} when neither the application nor the request decides.`,
    oneOf(name, profiles.toSorted(), profiles[0]),
  );
}

/** The settings that all resource services have in common. Some names begin with the service's name. */
export function resourceSettings(service: ServiceName) {
  return {
    ...serverSettings,
    ...tracingSettings,
    mongodbUri: mongodbUriSetting(service),
    identityUrl: serviceUrlSetting('identity'),
    clientSecret: serviceSecretSetting(service),
    clientAssertionFile: serviceAssertionFileSetting(service),
    natsUrl: natsUrlSetting,
    filtersSunset: filtersSunsetSetting,
  };
}

type Settings = SettingValues<ReturnType<typeof resourceSettings>>;

/** The configuration of createResourceService. */
export type ResourceConfig = Pick<
  Settings,
  /** The issuer of accepted tokens. */
  | 'publicUrl'
  | 'mongodbUri'
  /** The origin of identity as reached from this process, also for its keys. */
  | 'identityUrl'
  | 'rateLimit'
> & {
  /** The secret of this service's OAuth client, whose id is the name of the service; or the file of a token in its place. */
  clientSecret?: string | undefined;
  clientAssertionFile?: string | undefined;
  /** The NATS server for revocations, unless the service is given a broadcast. May contain credentials. */
  natsUrl?: string;
  /** Whether the migrations of the database are applied at the start; on by default. */
  migrateAtStart?: 'on' | 'off';
  /** Where requests are counted; in memory by default. */
  rateLimitStore?: 'memory' | 'mongodb';
  /** How long credentials are accepted while the revocation feed is silent; five minutes by default. */
  staleAfterSeconds?: number;
  /** The sunset date of filters in their deprecated form, without `filter[…]`; 2027-07-10 by default. */
  filtersSunset?: Date;
};

export const DEFAULT_FILTERS_SUNSET = new Date(SUNSET);
