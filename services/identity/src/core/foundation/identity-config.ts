import type { KeyList } from '@gatehouse/core/sealing';
import type { MailSettings } from '@gatehouse/mail/mail-settings';
import type { Brand } from '@gatehouse/web/brand';
import type { FirstApplication } from '../applications/first-applications.ts';
import type { Lifetimes } from '../oidc/provider-options.ts';
import type { ServiceClient } from '../tokens/service-tokens.ts';
import type { SigningAlgorithm } from '../tokens/signing-algorithms.ts';

/** The longest that access tokens can be made to live, in seconds. */
export const MAX_ACCESS_TOKEN_SECONDS = 86_400;

/** The config of the core. That of a feature is what its settings declare. */
export type CoreConfig = {
  /** The issuer. */
  publicUrl: string;
  mongodbUri: string;
  /** Whether the migrations of the database are applied at the start; on by default. */
  migrateAtStart?: 'on' | 'off';
  /** Where this service reaches the users service. */
  usersUrl: string;
  /** Where it reads what people download of their data there; left out of it by default. */
  itemsUrl?: string;
  commerceUrl?: string;
  notificationsUrl?: string;
  /** The broadcast between processes, unless the service is given one. May contain credentials. */
  natsUrl?: string;
  /** Seal signing keys, and sign cookies and forms. Without the one in use, what was sealed is lost. */
  masterKeys: KeyList;
  accessTokenAlgorithm: SigningAlgorithm;
  lifetimes: Lifetimes;
  rotateKeysEveryDays: number;
  /** Whether people may create accounts for themselves. */
  signUp: 'on' | 'off';
  brand?: Brand;
  /** Which accounts need a second factor; none by default. */
  requireSecondFactor?: 'none' | 'admin' | 'all';
  /** For how many days an account can be used before it has one, from the first sign-in that asks for it; none by default. */
  secondFactorGraceDays?: number;
  /** Whether dangerous requests to the API take a sign-in of the last five minutes; off by default. */
  freshSignIn?: 'on' | 'off';
  /** Where the users service looks for breached passwords; nowhere by default. */
  breachedPasswordsUrl?: string | undefined;
  auditDays: number;
  rateLimit: 'on' | 'off';
  /** Where requests are counted; in memory by default. */
  rateLimitStore?: 'memory' | 'mongodb';
  /** How long credentials are accepted while the revocation feed is silent; five minutes by default. */
  staleAfterSeconds?: number;
  /** Every other service, as a client. */
  services: readonly ServiceClient[];
  /** Without it, no mail is sent. */
  mail?: MailSettings;
  firstApplications: readonly FirstApplication[];
};
