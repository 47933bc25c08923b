import { v2Body } from '@gatehouse/http/error-bodies';
import type { ResourceContext, ResourceParts } from '@gatehouse/resource/create-resource-service';

/** The paths of this room, with the error bodies of what is below them. */
export const INTEGRATION_PATHS = [
  { prefix: '/v2/integrations', profiles: [{ name: 'latest', about: 'integrations', errorBody: v2Body }] },
  { prefix: '/integrations', profiles: [{ name: 'latest', about: 'integrations', errorBody: v2Body }] },
];

/** Integrations: which are configured, and whether each of them works. */
export function createIntegrationsModule(_context: ResourceContext): ResourceParts {
  return { routes() {} };
}
