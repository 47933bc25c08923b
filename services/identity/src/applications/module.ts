import { createRateLimiter } from '@gatehouse/api/http/rate-limit';
import type { RateLimitStore } from '@gatehouse/api/http/rate-limit-store';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import { onceInDatabase } from '@gatehouse/data/once';
import { LRUCache } from 'lru-cache';
import type { Connection } from 'mongoose';
import { createApiKeyStore } from './api-key-store.ts';
import { createApiKeys } from './api-keys.ts';
import type { Application } from './application.ts';
import { createApplicationStore } from './application-store.ts';
import { createApplicationWrites } from './application-writes.ts';
import { type ApplicationDependencies, createApplications } from './applications.ts';
import { createFirstApplications, type FirstApplication } from './first-applications.ts';
import { createRemoval } from './removal.ts';
import { createTransferStore } from './transfer-store.ts';
import { createTransfers, RECEIVED, RECIPIENTS } from './transfers.ts';

/** Every token request needs its application: it may be some seconds old. */
const CACHE = { max: 1000, ttl: 5000 };
/** How soon revocations that a crash kept from being written are resumed. */
const RESUME_MS = 5000;

/** Applications and API keys, with their stores and background tasks. */
export function createApplicationsModule(
  options: Omit<ApplicationDependencies, 'store' | 'keys'> &
    Pick<Parameters<typeof createTransfers>[0], 'accounts' | 'notify'> & {
      connection: Connection;
      firstApplications: readonly FirstApplication[];
      /** Where all replicas count together. */
      sharedLimits: RateLimitStore | undefined;
    },
) {
  const { connection, firstApplications, logger } = options;
  const store = createApplicationStore(connection, new LRUCache<string, Application>(CACHE));
  const keys = createApiKeyStore(connection);
  const applications = createApplications({ ...options, store, keys });
  const apiKeys = createApiKeys({ ...options, store, keys });
  const writes = createApplicationWrites({ ...options, store, keys });
  const transferStore = createTransferStore(connection);
  const transfers = createTransfers({
    ...{ ...options, store, transfers: transferStore, writes },
    attempts: createRateLimiter(RECIPIENTS, options.sharedLimits),
    received: createRateLimiter(RECEIVED, options.sharedLimits),
  });
  const onError = (error: unknown) =>
    logger.warn({ err: error }, 'revocations could not be resumed; trying again');
  return {
    applications,
    apiKeys,
    transfers,
    removeAllOf: createRemoval({ ...options, store, writes }),
    forget: store.forget,
    collections: [keys.collection, transferStore.collection],
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
