import { plainBody } from '@gatehouse/http/error-bodies';
import type { ResourceContext, ResourceParts } from '@gatehouse/resource/create-resource-service';

/** The paths of this room, with the error bodies of what is below them. */
export const ANALYTICS_PATHS = [
  { prefix: '/api/v1/analytics', profiles: [{ name: 'plain', about: 'metrics', errorBody: plainBody }] },
];

/** Analytics: adding up what services count, and answering questions about it. */
export function createAnalyticsModule(_context: ResourceContext): ResourceParts {
  return { routes() {} };
}
