import { createPeriodicTask } from '@gatehouse/kit/periodic';
import { onceInDatabase } from '@gatehouse/mongo/once';
import type { Connection } from 'mongoose';
import { createApiKeyStore } from './api-key-store.ts';
import { createApiKeys } from './api-keys.ts';
import { createApplicationCache } from './application-cache.ts';
import { createApplicationStore } from './application-store.ts';
import { type ApplicationDependencies, createApplications } from './applications.ts';
import { createFirstApplications, type FirstApplication } from './first-applications.ts';

/** How soon revocations that a crash kept from being written are resumed. */
const RESUME_MS = 5000;

/** Applications and API keys, with their stores and background tasks. */
export function createApplicationsModule(
  options: Omit<ApplicationDependencies, 'store' | 'keys'> & {
    connection: Connection;
    firstApplications: readonly FirstApplication[];
  },
) {
  const { connection, firstApplications, logger } = options;
  const store = createApplicationStore(connection, createApplicationCache());
  const keys = createApiKeyStore(connection);
  const applications = createApplications({ ...options, store, keys });
  const apiKeys = createApiKeys({ ...options, store, keys });
  const onError = (error: unknown) =>
    logger.warn({ err: error }, 'revocations could not be resumed; trying again');
  return {
    applications,
    apiKeys,
    forget: store.forget,
    collections: [keys.collection],
    /** Creates the applications that come with the deployment, once. */
    async createFirst(): Promise<void> {
      if (firstApplications.length === 0) return;
      await onceInDatabase(connection, 'first applications', () =>
        createFirstApplications({ store, keys }, firstApplications),
      );
    },
    resumeTasks: [applications, apiKeys].map(({ resumeRevocations: run }) =>
      createPeriodicTask({ run, everyMs: RESUME_MS, immediately: true, onError }),
    ),
  };
}
