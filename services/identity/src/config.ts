import {
  integer,
  keys256,
  oneOf,
  optional,
  origin,
  readSettings,
  type Setting,
  SettingsError,
  serverSettings,
  text,
  url,
} from '@gatehouse/kit/config';
import type { KeyList } from '@gatehouse/kit/sealing';
import { CLIENT_SERVICES, clientSecretSetting } from '@gatehouse/kit/services';
import type { MailSettings } from '@gatehouse/mail/mail-settings';
import { API_SCOPES } from '@gatehouse/tokens/scopes';
import type { FirstApplication } from './applications/first-applications.ts';
import type { ServiceClient } from './internal/service-tokens.ts';
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from './keys/signing-keys.ts';
import type { Lifetimes } from './oidc/provider.ts';

export type IdentityConfig = {
  /** The issuer. */
  publicUrl: string;
  mongodbUri: string;
  /** Where this service reaches the users service. */
  usersUrl: string;
  /** The broadcast between processes, unless the service is given one. May contain credentials. */
  natsUrl?: string;
  /** Seal signing keys, and sign cookies and forms. Without the one in use, what was sealed is lost. */
  masterKeys: KeyList;
  accessTokenAlgorithm: SigningAlgorithm;
  lifetimes: Lifetimes;
  rotateKeysEveryDays: number;
  /** Whether people may create accounts for themselves. */
  signUp: 'on' | 'off';
  /** Whether POST /api/v1/auth/login accepts passwords. */
  passwordLogin: 'on' | 'off';
  /** Whether applications in private networks and on this machine are notified of sign-outs; off by default. */
  logoutToPrivateNetworks?: 'on' | 'off';
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

/** All scopes that a machine can have. */
export const MACHINE_SCOPES = API_SCOPES.filter((scope) => scope !== 'read:profile');

const DAY = 86_400;
/** The longest that access tokens can be made to live, in seconds. */
export const MAX_ACCESS_TOKEN_SECONDS = DAY;

const settings = {
  ...serverSettings,
  mongodbUri: url('IDENTITY_MONGODB_URI', ['mongodb:', 'mongodb+srv:']),
  usersUrl: origin('USERS_URL'),
  natsUrl: url('NATS_URL', ['nats:', 'tls:']),
  masterKeys: keys256('IDENTITY_MASTER_KEY'),
  accessTokenAlgorithm: oneOf('IDENTITY_ACCESS_TOKEN_ALG', SIGNING_ALGORITHMS, 'ES256'),
  accessToken: integer('IDENTITY_ACCESS_TOKEN_SECONDS', {
    min: 60,
    max: MAX_ACCESS_TOKEN_SECONDS,
    default: 3600,
  }),
  code: integer('IDENTITY_CODE_SECONDS', { min: 10, max: 600, default: 60 }),
  refreshToken: integer('IDENTITY_REFRESH_TOKEN_SECONDS', { min: 600, max: 365 * DAY, default: 30 * DAY }),
  session: integer('IDENTITY_SESSION_SECONDS', { min: 600, max: 365 * DAY, default: 14 * DAY }),
  rotateKeysEveryDays: integer('IDENTITY_KEY_ROTATION_DAYS', { min: 1, max: 3650, default: 90 }),
  signUp: oneOf('IDENTITY_SIGN_UP', ['on', 'off'], 'off'),
  passwordLogin: oneOf('IDENTITY_PASSWORD_LOGIN', ['on', 'off'], 'on'),
  logoutToPrivateNetworks: oneOf('IDENTITY_LOGOUT_TO_PRIVATE_NETWORKS', ['on', 'off'], 'off'),
  auditDays: integer('IDENTITY_AUDIT_DAYS', { min: 1, max: 3650, default: 365 }),
  smtpUrl: optional(url('IDENTITY_SMTP_URL', ['smtp:', 'smtps:'])),
  mailFrom: optional(text('IDENTITY_MAIL_FROM')),
  machineId: optional(text('IDENTITY_MACHINE_ID')),
  machineSecret: optional(text('IDENTITY_MACHINE_SECRET')),
};

/** The client secret of each service, which its own process is given too. */
const clientSecrets = Object.fromEntries(
  CLIENT_SERVICES.map((service) => [service, text(clientSecretSetting(service))]),
) as Record<ServiceClient['id'], Setting<string>>;

/** Reads the settings of the identity process; throws a SettingsError. */
export function readIdentityConfig(env: NodeJS.ProcessEnv) {
  const { machineId, machineSecret, smtpUrl, mailFrom, ...rest } = readSettings(settings, env);
  const { accessToken, code, refreshToken, session, ...config } = rest;
  const secrets = readSettings(clientSecrets, env);
  const services = CLIENT_SERVICES.map((id) => ({ id, secret: secrets[id] }));
  const problems = services
    .filter(({ secret }) => secret.length < 32)
    .map(({ id }) => `The setting ${clientSecretSetting(id)} must have 32 characters or more.`);
  if ((smtpUrl === undefined) !== (mailFrom === undefined)) {
    problems.push('IDENTITY_SMTP_URL and IDENTITY_MAIL_FROM must be set together.');
  }
  if (
    (machineId === undefined) !== (machineSecret === undefined) ||
    (machineSecret ?? 'x'.repeat(32)).length < 32
  ) {
    problems.push(
      'IDENTITY_MACHINE_ID and IDENTITY_MACHINE_SECRET must be set together, and the secret must have 32 characters or more.',
    );
  }
  if (problems.length > 0) throw new SettingsError(problems);
  const firstApplications: FirstApplication[] =
    machineId === undefined || machineSecret === undefined
      ? []
      : [
          {
            clientId: machineId,
            clientSecret: machineSecret,
            name: 'First machine',
            type: 'machine',
            owner: null,
            trusted: true,
            redirectUris: [],
            scopes: MACHINE_SCOPES,
          },
        ];
  return {
    ...config,
    lifetimes: { accessToken, code, refreshToken, session },
    services,
    ...(smtpUrl === undefined || mailFrom === undefined ? {} : { mail: { smtpUrl, from: mailFrom } }),
    firstApplications,
  };
}
