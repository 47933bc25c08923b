import { created, done, ok, shape } from '@gatehouse/api/openapi/shapes';
import { ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import type { Caller } from '@gatehouse/tokens/caller';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { Account } from '../../core/accounts/account.ts';
import type { AccessSource, StandingAccess } from '../../core/authority/standing-access.ts';
import type { Ports } from '../../core/ports.ts';
import type { Api } from '../../http/api.ts';
import { personApi } from '../../http/person-api.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { type ConfigurationLease, LEASE_SECONDS, type LeaseStore } from './configuration-lease.ts';
import { createLeaseStore } from './configuration-lease-store.ts';
import { deployerRoutes, deployerTokenRoutes } from './deployer-routes.ts';
import { createDeployerStore } from './deployer-store.ts';

const PREFIX = '/api/v1/configuration/lease';
const EXAMPLE = {
  ...{ id: 'lse_01m7g9w2k0000c4v8x3r6t5n1z', expires_at: '2026-11-02T09:30:30.000Z', took_over: false },
};
const leaseShape = shape(
  'ConfigurationLease',
  Type.Object({
    id: Type.String(),
    expires_at: Type.String({ format: 'date-time' }),
    took_over: Type.Boolean({ description: 'Whether it replaces a lease that had expired.' }),
  }),
  EXAMPLE,
);

/** The lease under which one configuration file at a time is applied, and the applications that apply files without a person. */
export function configuration(core: Ports<'accounts' | 'applications' | 'tokens'>): IdentityModule {
  const store = createLeaseStore(core.connection);
  const deployers = createDeployerStore(core.connection);
  const marked = { ...core, store: deployers };
  const access: AccessSource<Account> = {
    async list(account) {
      const { epoch } = core.authority.givenBy('deployer', account);
      const marks = (await deployers.markedBy(account.id)).filter((it) => it.epoch >= epoch);
      const owned = await core.applications.ownedBy(account.id);
      return owned.flatMap(({ id: clientId, name: clientName }): StandingAccess[] => {
        const found = marks.find(({ id }) => id === clientId);
        if (found === undefined) return [];
        const { grantId: id, createdAt } = found;
        return [{ id, kind: 'deployer', name: null, clientId, clientName, createdAt, lastUsedAt: null }];
      });
    },
    keep: (userId, ids, givenAs) => deployers.setEpoch(userId, [...ids], givenAs('deployer').epoch),
  };
  return {
    apis: [leaseRoutes({ ...core, store }), deployerRoutes(marked), deployerTokenRoutes(marked)],
    collections: [store.collection],
    extensions: { access: [access], applicationErasers: [deployers.remove] },
  };
}

/** /api/v1/configuration/lease. Errors are thrown. */
function leaseRoutes(options: { store: LeaseStore; authenticate(ctx: Context): Promise<Caller> }): Api {
  const { store } = options;
  const api = personApi(PREFIX, options.authenticate, 'Configurations');
  /** Admins share one lease, since they can change everything. Other people change only their own objects, and must not hold up admins. */
  const scopeOf = ({ id, role }: { id: string; role: string }) => (role === 'admin' ? 'deployment' : id);
  const lease = (id: string): ConfigurationLease => ({
    id,
    expiresAt: new Date(Date.now() + LEASE_SECONDS * 1000),
  });
  const view = ({ id, expiresAt }: ConfigurationLease, tookOver = false) => ({
    ...{ id, expires_at: expiresAt, took_over: tookOver },
  });

  api.post('take', '/', {
    summary: 'Take the lease for a configuration',
    description: `It lasts ${LEASE_SECONDS} seconds, and longer if it is renewed. Admins share one lease. Other people have their own. 409 while the lease is taken.`,
    responses: created('The lease.', leaseShape),
    kinds: ['conflict'],
    async handle({ ctx, person }) {
      const taken = lease(newId('lse'));
      const before = await store.take(scopeOf(person), taken);
      if (before === undefined) throw new ServiceError('conflict', 'Another configuration is being applied.');
      ctx.set('location', `${PREFIX}/${taken.id}`);
      return view(taken, before === 'expired');
    },
  });

  api.get('read', '/', {
    summary: 'Read the lease for a configuration',
    responses: ok('The lease, which may have expired.', leaseShape),
    kinds: ['not_found'],
    async handle({ person }) {
      const found = await store.find(scopeOf(person));
      if (found === undefined) throw new ServiceError('not_found', 'No configuration is being applied.');
      return view(found);
    },
  });

  api.put('renew', '/:id', {
    summary: 'Renew the lease for a configuration',
    responses: ok('The lease.', leaseShape),
    kinds: ['conflict'],
    async handle({ person, params }) {
      const renewed = lease(params.id);
      if (await store.renew(scopeOf(person), renewed)) return view(renewed);
      throw new ServiceError('conflict', 'The lease has expired, and another apply has it now.');
    },
  });

  api.delete('release', '/:id', {
    summary: 'Release the lease for a configuration',
    responses: done('Another configuration can be applied.'),
    handle: ({ person, params }) => store.release(scopeOf(person), params.id),
  });
  return api;
}
