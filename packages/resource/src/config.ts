import {
  date,
  oneOf,
  origin,
  type Setting,
  type SettingValues,
  serverSettings,
  text,
  url,
} from '@gatehouse/kit/config';
import { PROFILE_PINS, type ProfilePins } from '@gatehouse/kit/profile-pins';
import { clientSecretSetting, type ServiceName } from '@gatehouse/kit/services';

/** A year after the deprecation of filters without brackets: nothing is promised to end earlier than that. */
const EARLIEST_SUNSET = '2026-07-10';
const SUNSET = '2027-07-10';

/** When filters in their deprecated form, without `filter[…]`, are to end. */
export const filtersSunsetSetting = date('LEGACY_FILTERS_SUNSET', { min: EARLIEST_SUNSET, default: SUNSET });

/** Which profile answers on a shared path where neither a pin nor the request says so. */
export function profileSetting<P extends keyof ProfilePins>(
  name: string,
  pin: P,
): Setting<ProfilePins[P][number]> {
  const profiles: readonly ProfilePins[P][number][] = PROFILE_PINS[pin];
  return oneOf(name, profiles.toSorted(), profiles[0]);
}

/** The settings that the process of every resource service has; its own names begin with the service's name. */
export function resourceSettings(service: ServiceName) {
  const prefix = service.toUpperCase();
  return {
    ...serverSettings,
    mongodbUri: url(`${prefix}_MONGODB_URI`, ['mongodb:', 'mongodb+srv:']),
    identityUrl: origin('IDENTITY_URL'),
    clientSecret: text(clientSecretSetting(service)),
    natsUrl: url('NATS_URL', ['nats:', 'tls:']),
    filtersSunset: filtersSunsetSetting,
  };
}

type Settings = SettingValues<ReturnType<typeof resourceSettings>>;

/** What createResourceService needs to know. */
export type ResourceConfig = Pick<
  Settings,
  /** The issuer of the tokens that are taken. */
  | 'publicUrl'
  | 'mongodbUri'
  /** Where identity is reached from here; its keys are fetched from there. */
  | 'identityUrl'
  /** Of the client as which this service asks others for something; its id is the name of the service. */
  | 'clientSecret'
  | 'rateLimit'
> & {
  /** Where revocations are broadcast, unless the service is given a broadcast. May hold credentials. */
  natsUrl?: string;
  /** For how long credentials are taken while nothing is heard of revocations; five minutes by default. */
  staleAfterSeconds?: number;
  /** When filters in their deprecated form, without `filter[…]`, are to end; 2027-07-10 by default. */
  filtersSunset?: Date;
};

export const DEFAULT_FILTERS_SUNSET = new Date(SUNSET);
