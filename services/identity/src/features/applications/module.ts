import { createPeriodicTask } from '@gatehouse/core/periodic';
import { onceInDatabase } from '@gatehouse/data/once';
import { createRemoval } from '../../core/applications/application-writes.ts';
import { createFirstApplications } from '../../core/applications/first-applications.ts';
import type { Ports } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { applicationRoutes } from './application-routes.ts';

/** The API by which people manage applications. */
export function applications(core: Ports<'applications' | 'tokens'>): IdentityModule {
  const { applicationStore: store, applicationWrites: writes, connection, extensions, audit } = core;
  const { firstApplications } = core.config;
  async function createFirst(): Promise<void> {
    if (firstApplications.length === 0) return;
    await onceInDatabase(connection, 'first applications', () =>
      createFirstApplications(store, extensions.applicationKeys, firstApplications),
    );
  }
  return {
    apis: [applicationRoutes(core)],
    parts: [
      { start: createFirst },
      createPeriodicTask({ run: core.applications.resumeRevocations, ...core.resuming }),
    ],
    extensions: { erasers: [createRemoval({ store, writes, audit })] },
  };
}
