import { createPeriodicTask } from '@gatehouse/core/periodic';
import { createOutbound } from '@gatehouse/outbound/outbound';
import type { Ports, WithSettings } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { createClientAssertions } from './client-assertions.ts';
import { federatedCredentialRoutes } from './federated-credential-routes.ts';
import { createFederatedCredentials } from './federated-credentials.ts';
import { createIssuerKeys, KEYS_BOUNDS } from './issuer-keys.ts';
import type { trustedIssuerSettings } from './settings.ts';
import { trustedIssuerRoutes } from './trusted-issuer-routes.ts';
import { createTrustedIssuerStore } from './trusted-issuer-store.ts';
import { createTrustedIssuers } from './trusted-issuers.ts';

/** Issuers whose tokens count here, and the rules by which applications authenticate with them instead of a secret (ADR 48). */
export function trustedIssuers(
  core: Ports<'applications' | 'tokens'> & WithSettings<typeof trustedIssuerSettings>,
): IdentityModule {
  const { issuer, revocations, applicationStore } = core;
  const outbound = createOutbound({
    ...{ to: 'public', networks: core.config.trustedIssuerNetworks ?? [], ...KEYS_BOUNDS },
  });
  const keys = createIssuerKeys({ outbound });
  const store = createTrustedIssuerStore(core.connection);
  const issuers = createTrustedIssuers({ store, revocations });
  const shared = { ...core, issuers, keys, audiences: [issuer, `${issuer}/oauth2/token`] };
  const assertions = createClientAssertions({
    ...{ ...shared, store: applicationStore, useOnce: core.store.useOnce },
  });
  const credentials = createFederatedCredentials({
    ...{ ...shared, store: applicationStore, writes: core.applicationWrites },
  });
  return {
    apis: [
      trustedIssuerRoutes({ ...core, store, issuers }),
      federatedCredentialRoutes({ ...core, credentials }),
    ],
    parts: [createPeriodicTask({ run: issuers.resumeRevocations, ...core.resuming })],
    extensions: {
      clientAssertions: [assertions],
      // Another replica has changed one.
      revocationListeners: [({ kind, id }) => kind === 'grant' && id.startsWith('iss_') && issuers.forget()],
    },
  };
}
