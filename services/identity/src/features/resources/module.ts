import { isOnHostOf } from '../../core/applications/hosts.ts';
import type { Core } from '../../core/core.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { identifierKeyOf } from './registered-resource.ts';
import { createResourceStore } from './registered-resource-store.ts';
import { resourceRoutes } from './resource-routes.ts';

/** APIs and MCP servers of others, for which applications get access tokens here (RFC 8707). */
export function resources(core: Core): IdentityModule {
  const store = createResourceStore(core.connection);
  core.extensions.resources.push(async (identifier, clientId) => {
    const key = identifierKeyOf(identifier);
    // Those of our own host are the API and the services, and cannot be registered.
    const isOfOthers = key !== undefined && !isOnHostOf(new URL(core.issuer), new URL(key));
    const found = isOfOthers ? await store.findByKey(key) : undefined;
    const isAllowed = clientId === undefined || (found?.applications?.includes(clientId) ?? true);
    return isAllowed ? found : undefined;
  });
  core.extensions.personalData.push({
    name: 'resources',
    rows: async function* ({ id }) {
      for (const { identifier, name, scopes, applications, createdAt } of await store.list(id)) {
        yield { identifier, name, scopes, applications, created_at: createdAt };
      }
    },
  });
  return { apis: [resourceRoutes({ ...core, store })], erase: store.removeAllOf };
}
