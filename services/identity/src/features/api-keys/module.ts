import { createPeriodicTask } from '@gatehouse/core/periodic';
import type { Ports } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { apiKeyResolution, apiKeyRoutes } from './api-key-routes.ts';
import { createApiKeyStore } from './api-key-store.ts';
import { createApiKeys } from './api-keys.ts';

/** Keys with which applications call the API without requesting tokens. */
export function apiKeys(core: Ports<'accounts' | 'applications' | 'tokens'>): IdentityModule {
  const { authenticateService } = core.authentication;
  const store = createApiKeyStore(core.connection);
  const keys = createApiKeys({ ...core, store: core.applicationStore, keys: store });
  return {
    apis: [apiKeyRoutes({ ...core, keys })],
    routers: [apiKeyResolution({ keys, authenticate: authenticateService })],
    collections: [store.collection],
    parts: [createPeriodicTask({ run: keys.resumeRevocations, ...core.resuming })],
    extensions: { applicationKeys: [keys] },
  };
}
