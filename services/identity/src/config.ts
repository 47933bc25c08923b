import { randomBytes } from 'node:crypto';
import {
  described,
  integer,
  keys256,
  oneOf,
  optional,
  readSettings,
  requireTogether,
  type Setting,
  SettingsError,
  type SettingValues,
  secret,
  text,
  url,
} from '@gatehouse/core/config';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { CLIENT_SERVICES, clientSecretSetting } from '@gatehouse/core/services';
import {
  brandSetting,
  breachedPasswordsSetting,
  freshSignInSetting,
  mongodbUriSetting,
  natsUrlSetting,
  serverSettings,
  serviceAssertionSubjectSetting,
  serviceSecretSetting,
  serviceUrlSetting,
  signUpSetting,
} from '@gatehouse/server/service-settings';
import { tracingSettings } from '@gatehouse/server/tracing/tracing-settings';
import { API_SCOPES } from '@gatehouse/tokens/scopes';
import { brandOf } from '@gatehouse/web/branding';
import type { FirstApplication } from './core/applications/first-applications.ts';
import { type CoreConfig, MAX_ACCESS_TOKEN_SECONDS } from './core/foundation/identity-config.ts';
import type { ServiceClient } from './core/tokens/service-tokens.ts';
import { SIGNING_ALGORITHMS } from './core/tokens/signing-algorithms.ts';
import { featureSettings } from './features/feature-settings.ts';

/** All scopes that a machine can have. */
export const MACHINE_SCOPES = API_SCOPES.filter((scope) => scope !== 'read:profile');

const DAY = 86_400;

/** For each service, its client secret, which its own process has as well, or the subject of its token. */
const clientSettings = Object.fromEntries(
  CLIENT_SERVICES.flatMap((service) => [
    [`${service}Secret`, serviceSecretSetting(service)],
    [`${service}Subject`, serviceAssertionSubjectSetting(service)],
  ]),
) as Record<`${ServiceClient['id']}${'Secret' | 'Subject'}`, Setting<string | undefined>>;

const own = {
  ...serverSettings,
  ...tracingSettings,
  mongodbUri: mongodbUriSetting('identity'),
  usersUrl: serviceUrlSetting('users'),
  itemsUrl: serviceUrlSetting('items'),
  commerceUrl: serviceUrlSetting('commerce'),
  notificationsUrl: serviceUrlSetting('notifications'),
  natsUrl: natsUrlSetting,
  masterKeys: described(
    'The keys that seal the stored signing keys and the keys of authenticator apps, and sign cookies and forms. The first is used, ' +
      'all are accepted. Keep a copy apart from the database: without it what they seal is lost, and no backup brings it back.',
    keys256('IDENTITY_MASTER_KEY'),
  ),
  accessTokenAlgorithm: described(
    'The algorithm that access tokens are signed with.',
    oneOf('IDENTITY_ACCESS_TOKEN_ALG', SIGNING_ALGORITHMS, 'ES256'),
  ),
  accessToken: described(
    'How long an access token lives.',
    integer('IDENTITY_ACCESS_TOKEN_SECONDS', { min: 60, max: MAX_ACCESS_TOKEN_SECONDS, default: 3600 }),
  ),
  code: described(
    'How long an authorization code lives.',
    integer('IDENTITY_CODE_SECONDS', { min: 10, max: 600, default: 60 }),
  ),
  refreshToken: described(
    'How long a refresh token lives: after its last use for clients with a secret, after the sign-in for others.',
    integer('IDENTITY_REFRESH_TOKEN_SECONDS', { min: 600, max: 365 * DAY, default: 30 * DAY }),
  ),
  session: described(
    'How long a browser stays signed in.',
    integer('IDENTITY_SESSION_SECONDS', { min: 600, max: 365 * DAY, default: 14 * DAY }),
  ),
  rotateKeysEveryDays: described(
    'After how many days the signing keys are replaced.',
    integer('IDENTITY_KEY_ROTATION_DAYS', { min: 1, max: 3650, default: 90 }),
  ),
  signUp: signUpSetting,
  ...featureSettings,
  brand: brandSetting,
  requireSecondFactor: described(
    'The accounts that need a second factor or a passkey: none, those of admins, or all. People who have neither set one up ' +
      'when they sign in. An application can require it as well.',
    oneOf('REQUIRE_SECOND_FACTOR', ['none', 'admin', 'all'], 'none'),
  ),
  secondFactorGraceDays: described(
    'For how many days after they are first asked people can put off setting up a second factor.',
    integer('SECOND_FACTOR_GRACE_DAYS', { min: 0, max: 365, default: 0 }),
  ),
  freshSignIn: freshSignInSetting,
  breachedPasswordsUrl: breachedPasswordsSetting,
  auditDays: described(
    'For how many days the audit log is kept.',
    integer('IDENTITY_AUDIT_DAYS', { min: 1, max: 3650, default: 365 }),
  ),
  smtpUrl: described(
    'The server that sends mails to people about their accounts. Without it, nobody can ask for a new password.',
    optional(url('IDENTITY_SMTP_URL', ['smtp:', 'smtps:'])),
    'smtps://user:password@smtp.example.com',
  ),
  mailFrom: described(
    'The sender of these mails. Set together with `IDENTITY_SMTP_URL`.',
    optional(text('IDENTITY_MAIL_FROM')),
    'Gatehouse <no-reply@example.com>',
  ),
  machineId: described(
    'The client id of a trusted application to create at the first start.',
    optional(text('IDENTITY_MACHINE_ID')),
  ),
  machineSecret: described(
    'Its secret, of 32 characters or more. Set together with `IDENTITY_MACHINE_ID`.',
    optional(secret('IDENTITY_MACHINE_SECRET')),
  ),
};

export const settings = { ...own, ...clientSettings };

export type IdentityConfig = CoreConfig & Partial<SettingValues<typeof featureSettings>>;

/** Reads the settings of the identity process; throws a SettingsError. */
export function readIdentityConfig(env: NodeJS.ProcessEnv) {
  // At once, so that the error names all that is missing.
  const all = readSettings(settings, env);
  const { machineId, machineSecret, smtpUrl, mailFrom: from, brand, ...values } = readSettings(own, env);
  const { accessToken, code, refreshToken, session, ...config } = values;
  const services = CLIENT_SERVICES.map((id) => ({
    id,
    // A service without a secret gets a random one, which nobody knows: only a token with the subject authenticates it.
    secret: all[`${id}Secret`] ?? randomBytes(32).toString('base64url'),
    ...omitUndefined({ subject: all[`${id}Subject`] }),
  }));
  const problems = services
    .filter(({ secret }) => secret.length < 32)
    .map(({ id }) => `The setting ${clientSecretSetting(id)} must have 32 characters or more.`);
  const { auditWebhookUrl: IDENTITY_AUDIT_WEBHOOK_URL, auditWebhookSecret: IDENTITY_AUDIT_WEBHOOK_SECRET } =
    config;
  problems.push(
    ...requireTogether({ IDENTITY_SMTP_URL: smtpUrl, IDENTITY_MAIL_FROM: from }),
    ...requireTogether({ IDENTITY_AUDIT_WEBHOOK_URL, IDENTITY_AUDIT_WEBHOOK_SECRET }),
  );
  const withSubject = services.filter(({ subject }) => subject !== undefined);
  if (withSubject.length > 0 !== (config.clientAssertionIssuer !== undefined)) {
    problems.push('IDENTITY_CLIENT_ASSERTION_ISSUER and the subjects of services must be set together.');
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
    ...omitUndefined({ brand: brand && brandOf(brand) }),
    ...(smtpUrl === undefined || from === undefined ? {} : { mail: { smtpUrl, from } }),
    firstApplications,
  };
}
