import { createPeriodicTask } from '@gatehouse/core/periodic';
import { createOutbound } from '@gatehouse/outbound/outbound';
import type Provider from 'oidc-provider';
import type { ProviderExtension } from '../../core/oidc/provider-options.ts';
import type { Ports, WithSettings } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { createClientAssertions } from './client-assertions.ts';
import { federatedCredentialRoutes } from './federated-credential-routes.ts';
import { createFederatedCredentials } from './federated-credentials.ts';
import { createIdentityAssertions } from './identity-assertion.ts';
import { createIdentityAssertionGrant } from './identity-assertion-grant.ts';
import { createIssuerKeys, KEYS_BOUNDS } from './issuer-keys.ts';
import { createServiceAssertions } from './service-assertions.ts';
import type { trustedIssuerSettings } from './settings.ts';
import { ALGORITHMS } from './trusted-issuer.ts';
import { trustedIssuerRoutes } from './trusted-issuer-routes.ts';
import { createTrustedIssuerStore } from './trusted-issuer-store.ts';
import { createTrustedIssuers } from './trusted-issuers.ts';

/** Issuers whose tokens count here, and the rules by which applications authenticate with them instead of a secret (ADR 48). */
export function trustedIssuers(
  core: Ports<'accounts' | 'applications' | 'sessions' | 'tokens'> &
    WithSettings<typeof trustedIssuerSettings>,
): IdentityModule {
  const { issuer, revocations, applicationStore } = core;
  const outbound = createOutbound({
    ...{ to: 'public', networks: core.config.trustedIssuerNetworks ?? [], ...KEYS_BOUNDS },
  });
  const keys = createIssuerKeys({ outbound });
  const store = createTrustedIssuerStore(core.connection);
  const issuers = createTrustedIssuers({ store, revocations });
  const shared = { ...core, issuers, keys, audiences: [issuer, `${issuer}/oauth2/token`] };
  const { clientAssertionIssuer: platform, clientAssertionJwks: jwks } = core.config;
  const serviceSecret = createServiceAssertions({
    ...{ issuer, keys, services: core.config.services, logger: core.logger },
    platform:
      platform === undefined
        ? undefined
        : {
            id: 'platform',
            generation: 0,
            issuer: platform,
            algorithms: ALGORITHMS,
            jwks,
            jwksUri: undefined,
          },
  });
  const assertions = createClientAssertions({
    ...{ ...shared, store: applicationStore, useOnce: core.store.useOnce, serviceSecret },
  });
  const credentials = createFederatedCredentials({
    ...{ ...shared, store: applicationStore, writes: core.applicationWrites },
  });
  const assertionGrant = createIdentityAssertionGrant({
    ...core,
    useOnce: core.store.useOnce,
    readAssertion: createIdentityAssertions({ issuer, issuers, keys, useOnce: core.store.useOnce }),
    async findLinked(identity) {
      const found = await Promise.all(core.extensions.linkedPeople.map((find) => find(identity)));
      return found.find((it) => it !== undefined);
    },
  });
  const provider: ProviderExtension = {
    configure(configuration) {
      const profiles = {
        authorization_grant_profiles_supported: ['urn:ietf:params:oauth:grant-profile:id-jag'],
      };
      configuration.discovery = { ...configuration.discovery, ...profiles };
    },
    attach: assertionGrant,
  };
  return {
    apis: [
      trustedIssuerRoutes({ ...core, store, issuers }),
      federatedCredentialRoutes({ ...core, credentials, issuers }),
    ],
    parts: [createPeriodicTask({ run: issuers.resumeRevocations, ...core.resuming })],
    extensions: {
      clientAssertions: [assertions],
      provider: [provider, { attach: announceSpiffe }],
      // Another replica has changed one.
      revocationListeners: [({ kind, id }) => kind === 'grant' && id.startsWith('iss_') && issuers.forget()],
    },
  };
}

/** Adds `spiffe_jwt` to the metadata (draft-ietf-oauth-spiffe-client-auth §4), in which oidc-provider lists its own methods alone. */
function announceSpiffe(provider: Provider): void {
  provider.use(async (ctx, next) => {
    await next();
    if (ctx.oidc?.route === 'discovery') ctx.body.token_endpoint_auth_methods_supported.push('spiffe_jwt');
  });
}
