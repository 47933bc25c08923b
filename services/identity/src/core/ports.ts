import type { SettingValues } from '@gatehouse/core/config';
import type { Core } from './core.ts';

/** The parts of the core by what they are about. Everything else, such as the database and the log, is for every feature. */
type Members = {
  /** People's accounts, the mails to them, and the limits of guessing. */
  accounts: 'accounts' | 'accountCache' | 'mails' | 'notices' | 'links' | 'throttle' | 'requestErasure';
  /** Applications, who may do what with them, and who has allowed them what. */
  applications:
    | 'applications'
    | 'applicationStore'
    | 'applicationWrites'
    | 'authority'
    | 'authorizedApplications'
    | 'members'
    | 'notifyCredential'
    | 'limitCredentials';
  /** How people sign in, and where they are signed in. */
  sessions:
    | 'sessions'
    | 'sessionEnds'
    | 'checkPassword'
    | 'secondFactors'
    | 'secondFactorRequirement'
    | 'gracePeriods'
    | 'strongestFactor'
    | 'lastWay'
    | 'remembered'
    | 'removedMethods'
    | 'generations';
  /** oidc-provider with what it stores, signing keys, and what is revoked. */
  tokens:
    | 'provider'
    | 'store'
    | 'signing'
    | 'handles'
    | 'lifetimes'
    | 'longestTokenSeconds'
    | 'findResource'
    | 'findActing'
    | 'requestToken'
    | 'revocations'
    | 'resuming'
    | 'feed';
  /** The pages of identity and of accounts. */
  pages: 'accountPages' | 'browser' | 'cookieKeys' | 'forms' | 'pageErrors';
  /** For the service alone, which starts and stops them. */
  service: 'collections' | 'connections' | 'database' | 'erasures' | 'removeLinksOf' | 'stopMail' | 'usage';
};

/** The core for a feature that takes these ports. */
export type Ports<Names extends Exclude<keyof Members, 'service'> = never> = Pick<
  Core,
  Exclude<keyof Core, Members[keyof Members]> | Members[Names]
>;

/** The ports of a feature that has these settings. In tests some have no value. */
export type WithSettings<Settings> = { config: Partial<SettingValues<Settings>> };
