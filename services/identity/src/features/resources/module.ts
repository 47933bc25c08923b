import { createRateLimiter } from '@gatehouse/api/http/rate-limit';
import { createOutbound } from '@gatehouse/outbound/outbound';
import { isOnHostOf } from '../../core/applications/hosts.ts';
import type { PersonalDataSection } from '../../core/extensions.ts';
import type { FindResource, ResourceRequester } from '../../core/oidc/protected-resource.ts';
import type { Ports, WithSettings } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { feedRoutes } from './feed-routes.ts';
import { holdsForOthers } from './listed-applications.ts';
import { identifierKeyOf, isListed, type Resource } from './registered-resource.ts';
import { createResourceStore } from './registered-resource-store.ts';
import { createResourceApi } from './resource-api.ts';
import { resourceRoutes } from './resource-routes.ts';
import { createResourceServerAuthentication } from './resource-server.ts';
import { createResourceVerification, MAX_METADATA, METADATA_TIMEOUT_MS } from './resource-verification.ts';
import { createRevocationStreams } from './revocation-streams.ts';
import type { resourceSettings } from './settings.ts';
import { REVOCATION_TESTS, verifierRoutes } from './verifier-routes.ts';
import { createVerifierStore } from './verifier-store.ts';
import { createVerifiers } from './verifiers.ts';

/** APIs and MCP servers of others, for which applications get access tokens here (RFC 8707). */
export function resources(
  core: Ports<'accounts' | 'applications' | 'tokens'> & WithSettings<typeof resourceSettings>,
): IdentityModule {
  const store = createResourceStore(core.connection);
  const { resourceNetworks: networks = [] } = core.config;
  const outbound = createOutbound({
    ...{ to: 'public', networks, timeoutMs: METADATA_TIMEOUT_MS, maxBytes: MAX_METADATA },
  });
  const verification = createResourceVerification({ ...core, store, outbound });
  const find: FindResource = async (identifier, requester) => {
    const key = identifierKeyOf(identifier);
    // Those of our own host are the API and the services, and cannot be registered.
    const isOfOthers = key !== undefined && !isOnHostOf(new URL(core.issuer), new URL(key));
    const found = isOfOthers ? await store.findByKey(key) : undefined;
    if (found === undefined || requester === undefined) return found;
    if (!mayRequest(found, requester)) return undefined;
    const isOfOwner = requester.owner === found.owner;
    if (found.applications !== null && !isOfOwner && !(await holdsForOthers(found, core.authority)))
      return undefined;
    if ((await core.accountCache.find(found.owner))?.status !== 'active') return undefined;
    const isUsable = isOfOwner || (await verification.isVerified(found));
    return isUsable ? found : undefined;
  };
  const personalData: PersonalDataSection = {
    name: 'resources',
    rows: async function* ({ id }) {
      for (const { identifier, name, scopes, applications, createdAt } of await store.list(id)) {
        yield { identifier, name, scopes, applications, created_at: createdAt };
      }
    },
  };
  const identifyServer = createResourceServerAuthentication(core);
  const verifierStore = createVerifierStore(core.connection);
  const verifiers = createVerifiers({ ...core, store: verifierStore });
  const streams = createRevocationStreams({ ...core, store, verifiers });
  const resourceApi = createResourceApi({ ...core, store, identifyServer });
  const tests = createRateLimiter(REVOCATION_TESTS, core.sharedLimits);
  resourceRoutes({ ...core, store, verification, resourceApi });
  feedRoutes({ ...core, resourceApi, streams, verifiers, verifierStore });
  verifierRoutes({ ...core, resourceApi, verifierStore, tests });
  return {
    apis: [resourceApi.api],
    parts: [streams, verifiers],
    collections: [verifierStore.collection],
    metrics: streams.metrics,
    extensions: {
      revocationListeners: [streams.hear],
      resources: [find],
      personalData: [personalData],
      erasers: [store.removeAllOf],
    },
  };
}

/** Whether an application may ask for tokens for a resource, by the settings of the resource. */
function mayRequest(resource: Resource, requester: ResourceRequester): boolean {
  if (resource.applications !== null) return isListed(resource, requester);
  // No consent page bounds what a machine gets.
  return !requester.isMachine || (requester.owner === resource.owner && !requester.isOfMember);
}
