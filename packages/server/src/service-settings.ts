import {
  addresses,
  described,
  insteadOf,
  integer,
  json,
  oneOf,
  optional,
  origin,
  type Setting,
  type SettingValues,
  secret,
  text,
  url,
} from '@gatehouse/core/config';
import { clientSecretSetting, type ServiceName } from '@gatehouse/core/services';
import { readBrandFields } from '@gatehouse/web/branding';
import { DEFAULT_LIMITS } from './connections.ts';

// Settings that several services have, each with the same name and meaning everywhere.

export const natsUrlSetting = described(
  'The NATS server that carries revocations, events and jobs. It may contain credentials.',
  url('NATS_URL', ['nats:', 'tls:']),
);

export const signUpSetting = described(
  'Whether people may create accounts for themselves.',
  oneOf('IDENTITY_SIGN_UP', ['on', 'off'], 'off'),
);

export const brandSetting = described(
  'The brand of the pages and mails: `name`, `primary_color` as #rrggbb, `logo_uri` (a PNG picture of at most 16 KiB as a `data:` URL), ' +
    '`client_uri`, `policy_uri`, `tos_uri` and `support_uri`. Colours that would be hard to read are made darker or lighter.',
  { ...optional(json('IDENTITY_BRAND', 'an object in JSON', readBrandFields)), isSecret: false },
  '{"name":"Acme","primary_color":"#0b5a4f","policy_uri":"https://acme.example/privacy"}',
);

export const freshSignInSetting = described(
  'With `on`, a change of somebody else’s account, the deletion of an account, the end of all its access, or a change of anything at identity, such as applications, credentials, members, identity providers and sessions, ' +
    'takes a token with a sign-in of the last five minutes (RFC 9470). The dashboard then asks people to sign in again.',
  oneOf('IDENTITY_FRESH_SIGN_IN', ['on', 'off'], 'off'),
);

export const breachedPasswordsSetting = described(
  'Where the users service looks for breached passwords, which it refuses: a service with the range API of Have I Been Pwned, or ' +
    'a `file:` URL of the sorted file that its downloader writes. A person who signs in with such a password on the sign-in page is asked to change it. ' +
    'If the check fails, the password is accepted.',
  {
    ...optional(
      url('IDENTITY_BREACHED_PASSWORDS_URL', ['https:', 'http:', 'file:']),
      'passwords are not checked for breaches',
    ),
    isSecret: false,
  },
  'https://api.pwnedpasswords.com/range/',
);

export function mongodbUriSetting(service: ServiceName): Setting<string> {
  return described(
    `The database of the ${service} service. It may contain credentials.`,
    url(`${service.toUpperCase()}_MONGODB_URI`, ['mongodb:', 'mongodb+srv:']),
  );
}

/** Where a service is reached from the others. */
export function serviceUrlSetting(service: ServiceName): Setting<string> {
  return described(
    `The URL at which other services reach the ${service} service.`,
    origin(`${service.toUpperCase()}_URL`),
  );
}

/** The secret that a service and identity both know; undefined where a token takes its place. */
export function serviceSecretSetting(service: ServiceName): Setting<string | undefined> {
  return described(
    `The secret with which the ${service} service authenticates at identity, of 32 characters or more.`,
    secret(clientSecretSetting(service)),
  );
}

/** The file of the token with which a service authenticates in place of a secret. */
export function serviceAssertionFileSetting(service: ServiceName): Setting<string | undefined> {
  return described(
    `A file with the token with which the ${service} service authenticates at identity in place of \`${clientSecretSetting(service)}\` (RFC 7523), ` +
      'such as that of a Kubernetes service account. It is read for each request.',
    insteadOf(clientSecretSetting(service), text(`${service.toUpperCase()}_CLIENT_ASSERTION_FILE`)),
    '/var/run/secrets/gatehouse/token',
  );
}

/** The subject that identity expects in that token. */
export function serviceAssertionSubjectSetting(service: ServiceName): Setting<string | undefined> {
  return described(
    `The subject of the token with which the ${service} service authenticates, in place of \`${clientSecretSetting(service)}\`, compared character by character.`,
    insteadOf(clientSecretSetting(service), text(`${service.toUpperCase()}_CLIENT_ASSERTION_SUBJECT`)),
    `system:serviceaccount:gatehouse:${service}`,
  );
}

/** The settings of every service process. */
export const serverSettings = {
  port: described('The port to listen on.', integer('PORT', { min: 1, max: 65535, default: 3000 })),
  managementPort: described(
    'The port of `/health/live`, `/health/ready` and `/metrics`, for operators only. `PORT` is opened when the service is ready.',
    integer('MANAGEMENT_PORT', { min: 1, max: 65535, default: 9000 }),
  ),
  host: described('The address to listen on. `::` is every address of the machine.', text('HOST', '::')),
  publicUrl: described(
    'The URL at which clients reach the deployment. It is the issuer of all tokens and the base of all links, and passkeys belong to ' +
      'its host name: choose it once.',
    origin('PUBLIC_URL'),
  ),
  trustedProxies: described(
    'The proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted.',
    addresses('TRUSTED_PROXIES'),
  ),
  logLevel: described(
    'The lowest level of messages that are logged.',
    oneOf('LOG_LEVEL', ['debug', 'info', 'warn', 'error'], 'info'),
  ),
  shutdownDelaySeconds: described(
    'How long a stopping process goes on serving while `/health/ready` returns 503, so that load balancers that check it send requests elsewhere.',
    integer('SHUTDOWN_DELAY_SECONDS', { min: 0, max: 600, default: 5 }),
  ),
  drainSeconds: described(
    'How long the process then has, without accepting connections, to finish requests and to close connections that are kept alive. A connection without a request ends after 5 seconds.',
    integer('DRAIN_SECONDS', { min: 0, max: 600, default: 10 }),
  ),
  headersTimeoutSeconds: described(
    'How long the headers of a request may take to arrive.',
    integer('HEADERS_TIMEOUT_SECONDS', { min: 1, max: 30, default: DEFAULT_LIMITS.headersTimeoutSeconds }),
  ),
  requestTimeoutSeconds: described(
    'How long a whole request may take to arrive.',
    integer('REQUEST_TIMEOUT_SECONDS', { min: 30, max: 3600, default: DEFAULT_LIMITS.requestTimeoutSeconds }),
  ),
  responseTimeoutSeconds: described(
    'How long after the headers of a request the client may take to receive the whole response.',
    integer('RESPONSE_TIMEOUT_SECONDS', {
      min: 30,
      max: 3600,
      default: DEFAULT_LIMITS.responseTimeoutSeconds,
    }),
  ),
  maxConnections: described(
    'How many connections a process has at a time. A further one closes the connection that has been idle longest.',
    integer('MAX_CONNECTIONS', { min: 100, max: 1_000_000, default: DEFAULT_LIMITS.maxConnections }),
  ),
  migrateAtStart: described(
    'Whether a service that starts applies the pending migrations of its database. With `off` it is not ready until they have ' +
      'been applied by `service.ts migrate`.',
    oneOf('MIGRATE_AT_START', ['on', 'off'], 'on'),
  ),
  rateLimit: described('`off` turns the rate limits off.', oneOf('RATE_LIMIT', ['on', 'off'], 'on')),
  rateLimitStore: described(
    'Where the rate limits count requests: in each process, or for all replicas of a service in its database, at the ' +
      'price of one more write for each request.',
    oneOf('RATE_LIMIT_STORE', ['memory', 'mongodb'], 'memory'),
  ),
  staleAfterSeconds: described(
    'How long credentials are accepted while revocations cannot be received.',
    integer('REVOCATION_STALE_SECONDS', { min: 10, max: 3600, default: 300 }),
  ),
};

export type ServerConfig = SettingValues<typeof serverSettings>;
