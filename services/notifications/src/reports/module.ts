import { v2Body } from '@gatehouse/http/error-bodies';
import type { ResourceContext, ResourceParts } from '@gatehouse/resource/create-resource-service';

/** The paths of this room, with the error bodies of what is below them. */
export const REPORT_PATHS = [
  { prefix: '/v2/reports', profiles: [{ name: 'latest', about: 'reports', errorBody: v2Body }] },
  { prefix: '/reports', profiles: [{ name: 'latest', about: 'reports', errorBody: v2Body }] },
];

/** Reports: their types, generating and downloading them. */
export function createReportsModule(_context: ResourceContext): ResourceParts {
  return { routes() {} };
}
