import { createRateLimiter } from '@gatehouse/api/http/rate-limit';
import type { Ports } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { transferRoutes } from './transfer-routes.ts';
import { createTransferStore } from './transfer-store.ts';
import { createTransfers, OFFERED, RECIPIENTS } from './transfers.ts';

/** Giving applications to other people. */
export function transfers(core: Ports<'accounts' | 'applications'>): IdentityModule {
  const { connection, sharedLimits, applicationStore, applicationWrites } = core;
  const store = createTransferStore(connection);
  const transfers = createTransfers({
    ...core,
    store: applicationStore,
    transfers: store,
    writes: applicationWrites,
    attempts: createRateLimiter(RECIPIENTS, sharedLimits),
    offered: createRateLimiter(OFFERED, sharedLimits),
  });
  return { apis: transferRoutes({ ...core, transfers }), collections: [store.collection] };
}
