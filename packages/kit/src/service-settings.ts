import { described, oneOf, origin, type Setting, secret, url } from './config.ts';
import { clientSecretSetting, type ServiceName } from './services.ts';

// Settings that several services have, each with the same name and meaning everywhere.

export const natsUrlSetting = described(
  'The NATS server that carries revocations, events and jobs. It may contain credentials.',
  url('NATS_URL', ['nats:', 'tls:']),
);

export const signUpSetting = described(
  'Whether people may create accounts for themselves.',
  oneOf('IDENTITY_SIGN_UP', ['on', 'off'], 'off'),
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
    `Where other services reach the ${service} service.`,
    origin(`${service.toUpperCase()}_URL`),
  );
}

/** The secret that a service and identity both know. */
export function serviceSecretSetting(service: ServiceName): Setting<string> {
  return described(
    `The secret by which identity knows the ${service} service, of 32 characters or more.`,
    secret(clientSecretSetting(service)),
  );
}
