import { plainBody, v2Body } from '@gatehouse/http/error-bodies';
import type { ResourceContext, ResourceParts } from '@gatehouse/resource/create-resource-service';

/** The paths of this room, with the error bodies of what is below them. */
export const NOTIFICATION_PATHS = [
  { prefix: '/v2/notifications', profiles: [{ name: 'latest', about: 'by page', errorBody: v2Body }] },
  { prefix: '/notifications', profiles: [{ name: 'latest', about: 'by page', errorBody: v2Body }] },
  {
    prefix: '/api/v1/notifications',
    profiles: [{ name: 'bare', about: 'a bare array', errorBody: plainBody }],
  },
];

/** Notifications: accepting, sending and following them, and what operators do about their queues. */
export function createNotificationsModule(_context: ResourceContext): ResourceParts {
  return { routes() {} };
}
