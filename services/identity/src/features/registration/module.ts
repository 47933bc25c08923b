import type { Core } from '../../core/core.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { REGISTRATION_ENDPOINT, registrationRoutes } from './registration-routes.ts';
import { createRegistrationStore } from './registration-store.ts';
import { registrationTokenRoutes } from './registration-token-routes.ts';
import { createRegistrationTokenStore } from './registration-token-store.ts';
import { createRegistrations } from './registrations.ts';

/** Clients that register themselves (RFC 7591). */
export function registration(core: Core): IdentityModule {
  const tokens = createRegistrationTokenStore(core.connection);
  const registrations = createRegistrations({
    ...core,
    tokens,
    registrations: createRegistrationStore(core.connection),
  });
  core.extensions.provider.push({
    configure(configuration) {
      const registration_endpoint = core.issuer + REGISTRATION_ENDPOINT;
      configuration.discovery = { ...configuration.discovery, registration_endpoint };
    },
  });
  return {
    apis: [registrationTokenRoutes({ ...core, tokens }), registrationRoutes({ ...core, registrations })],
    collections: [tokens.collection],
    erase: tokens.removeAllOf,
  };
}
