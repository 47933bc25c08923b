import {
  addresses,
  described,
  integer,
  json,
  keys256,
  list,
  oneOf,
  optional,
  readSettings,
  requireTogether,
  type Setting,
  SettingsError,
  secret,
  text,
  url,
} from '@gatehouse/core/config';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { CLIENT_SERVICES, clientSecretSetting } from '@gatehouse/core/services';
import { PROFILE_PINS } from '@gatehouse/domain/profile-pins';
import {
  freshSignInSetting,
  mongodbUriSetting,
  natsUrlSetting,
  serverSettings,
  serviceSecretSetting,
  serviceUrlSetting,
  signUpSetting,
} from '@gatehouse/server/service-settings';
import { tracingSettings } from '@gatehouse/server/tracing/tracing-settings';
import { API_SCOPES } from '@gatehouse/tokens/scopes';
import type { FirstApplication } from './core/applications/first-applications.ts';
import { readBrand } from './core/branding/read-brand.ts';
import { MAX_ACCESS_TOKEN_SECONDS } from './core/foundation/identity-config.ts';
import { ALL_SCOPES } from './core/oidc/claims/scope-rules.ts';
import type { ServiceClient } from './core/tokens/service-tokens.ts';
import { SIGNING_ALGORITHMS } from './core/tokens/signing-algorithms.ts';
import { readIdentityProviders } from './features/identity-providers/provider-settings.ts';

/** All scopes that a machine can have. */
export const MACHINE_SCOPES = API_SCOPES.filter((scope) => scope !== 'read:profile');

const DAY = 86_400;

/** The client secret of each service, which its own process is given too. */
const clientSecrets = Object.fromEntries(
  CLIENT_SERVICES.map((service) => [service, serviceSecretSetting(service)]),
) as Record<ServiceClient['id'], Setting<string>>;

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
  userInfo: described(
    'The format of `/userinfo` for applications that do not pin it. With `openid`, `updated_at` is a number of ' +
      'seconds, and there is `preferred_username`.',
    oneOf('IDENTITY_USERINFO', PROFILE_PINS.userinfo, PROFILE_PINS.userinfo[0]),
  ),
  passwordLogin: described(
    'Whether `POST /api/v1/auth/login` accepts passwords. With `off`, people type them on the sign-in page only.',
    oneOf('IDENTITY_PASSWORD_LOGIN', ['on', 'off'], 'on'),
  ),
  logoutNetworks: described(
    'Private networks in which applications may receive back-channel logout requests. Public addresses need no entry.',
    addresses('IDENTITY_LOGOUT_NETWORKS'),
  ),
  brand: described(
    'Whose pages and mails these are: `name`, `primary_color` as #rrggbb, `logo_uri` (a PNG picture of at most 16 KiB as a `data:` URL), ' +
      '`policy_uri`, `tos_uri` and `support_uri`. Colours that would be hard to read are made darker or lighter.',
    { ...optional(json('IDENTITY_BRAND', 'an object in JSON', readBrand)), isSecret: false },
    '{"name":"Acme","primary_color":"#0b5a4f","policy_uri":"https://acme.example/privacy"}',
  ),
  identityProviders: described(
    'The other providers with which people can sign in. docs/guides/identity-providers.md describes the list.',
    optional(json('IDENTITY_PROVIDERS', 'a list in JSON', readIdentityProviders)),
    '[{"preset":"google","client_id":"…","client_secret":"…"}]',
  ),
  clientMetadata: described(
    'Whether clients that nobody has registered can ask people to sign in, with the URL of a Client ID Metadata Document as client_id, as MCP ' +
      'clients do. People are told that nobody has checked who they are.',
    oneOf('IDENTITY_CLIENT_METADATA', ['on', 'off'], 'off'),
  ),
  clientMetadataScopes: described(
    'The scopes that such clients may ask for.',
    list('IDENTITY_CLIENT_METADATA_SCOPES', ['openid', 'profile', 'email', 'read:profile']),
  ),
  clientMetadataNetworks: described(
    'Private networks in which such documents may be. Public addresses need no entry.',
    addresses('IDENTITY_CLIENT_METADATA_NETWORKS'),
  ),
  openRegistration: described(
    'Whether clients can register themselves without an initial access token (RFC 7591), as some MCP clients do. They can ask for the ' +
      'scopes `openid`, `profile`, `email` and `read:profile`, and people are told that nobody has checked who they are.',
    oneOf('IDENTITY_OPEN_REGISTRATION', ['on', 'off'], 'off'),
  ),
  resourceNetworks: described(
    'Private networks in which APIs and MCP servers may be that people register as resources, and whose metadata proves that they are ' +
      'theirs. Public addresses need no entry.',
    addresses('IDENTITY_RESOURCE_NETWORKS'),
  ),
  providerNetworks: described(
    'Private networks in which identity providers may be that admins add in the dashboard. Public addresses, and providers of ' +
      '`IDENTITY_PROVIDERS`, need no entry.',
    addresses('IDENTITY_PROVIDER_NETWORKS'),
  ),
  recoveryWaitHours: described(
    'For how many hours people wait who know their password and have lost their authenticator app and recovery codes, before a mailed link ' +
      'removes these. With 0, only an admin does.',
    integer('RECOVERY_WAIT_HOURS', { min: 0, max: 720, default: 72 }),
  ),
  requireSecondFactor: described(
    'Whose accounts need a second factor, or a passkey: of nobody, of admins, or of everybody. Those who have none set one up ' +
      'when they sign in. An application can require it as well.',
    oneOf('REQUIRE_SECOND_FACTOR', ['none', 'admin', 'all'], 'none'),
  ),
  secondFactorGraceDays: described(
    'For how many days after they are first asked people can put that off.',
    integer('SECOND_FACTOR_GRACE_DAYS', { min: 0, max: 365, default: 0 }),
  ),
  freshSignIn: freshSignInSetting,
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

export const settings = { ...own, ...clientSecrets };

/** Reads the settings of the identity process; throws a SettingsError. */
export function readIdentityConfig(env: NodeJS.ProcessEnv) {
  // At once, so that the error names all that is missing.
  const all = readSettings(settings, env);
  const {
    machineId,
    machineSecret,
    smtpUrl,
    mailFrom: from,
    identityProviders,
    brand,
    clientMetadata,
    clientMetadataScopes: scopes,
    clientMetadataNetworks: networks,
    ...values
  } = readSettings(own, env);
  const { accessToken, code, refreshToken, session, ...config } = values;
  const services = CLIENT_SERVICES.map((id) => ({ id, secret: all[id] }));
  const problems = services
    .filter(({ secret }) => secret.length < 32)
    .map(({ id }) => `The setting ${clientSecretSetting(id)} must have 32 characters or more.`);
  problems.push(...requireTogether({ IDENTITY_SMTP_URL: smtpUrl, IDENTITY_MAIL_FROM: from }));
  if (
    (machineId === undefined) !== (machineSecret === undefined) ||
    (machineSecret ?? 'x'.repeat(32)).length < 32
  ) {
    problems.push(
      'IDENTITY_MACHINE_ID and IDENTITY_MACHINE_SECRET must be set together, and the secret must have 32 characters or more.',
    );
  }
  const unknown = scopes.find((scope) => !ALL_SCOPES.includes(scope as never));
  if (unknown !== undefined) {
    problems.push(
      `The setting IDENTITY_CLIENT_METADATA_SCOPES must have scopes of ${ALL_SCOPES.join(', ')} only.`,
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
    clientMetadata: { enabled: clientMetadata === 'on', scopes, networks },
    ...omitUndefined({ identityProviders, brand }),
    ...(smtpUrl === undefined || from === undefined ? {} : { mail: { smtpUrl, from } }),
    firstApplications,
  };
}
