import { isTrustedIssuer } from '../../core/extensions.ts';
import type { Ports } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { createAccountChangeHandler } from './account-changes.ts';
import { createApplicationNames } from './application-names.ts';
import { createCredentialState } from './credential-state.ts';
import { createDelegationStore } from './delegation-store.ts';
import { createDelegations } from './delegations.ts';
import { internalRoutes } from './internal-routes.ts';
import { createOwnedApplications } from './owned-applications.ts';

/** The requests of the other services to identity. */
export function internal(core: Ports<'accounts' | 'applications' | 'sessions' | 'tokens'>): IdentityModule {
  const { applications, authentication, provider, extensions } = core;
  const isInForce = createCredentialState({
    ...extensions,
    findAccount: core.accounts.find,
    findApplication: applications.find,
    async grantExists(id) {
      for (const { isInForce } of extensions.clientAssertions) {
        const known = await isInForce(id);
        if (known !== undefined) return known;
      }
      return (await provider.current().Grant.find(id)) !== undefined;
    },
  });
  const store = createDelegationStore(core.connection);
  const delegations = createDelegations({
    issuer: core.issuer,
    store,
    isInForce,
    signer: core.signing.signer,
    tokenLifetime: core.lifetimes.accessToken,
  });
  const accountChanged = createAccountChangeHandler(core);
  const routes = internalRoutes({
    ...core,
    authenticate: authentication.authenticateService,
    verifyCredential: authentication.verifyCredential,
    delegations,
    applicationNames: createApplicationNames(applications.find, extensions.programs),
    isInForce,
    ownedApplications: createOwnedApplications({
      findOwner: core.accounts.find,
      findApplication: core.applicationStore.findNow,
      ownedBy: applications.ownedBy,
      visibleTo: applications.visibleTo,
      keysOf: async (id) =>
        (await Promise.all(extensions.applicationKeys.map((keys) => keys.live(id)))).flat(),
      ...{ isTrusted: isTrustedIssuer(extensions), extensions },
      authority: core.authority,
    }),
    accountChanged: (change) =>
      extensions.accountListeners.reduce<() => Promise<void>>(
        (proceed, listen) => () => listen(change, proceed),
        () => accountChanged(change),
      )(),
  });
  return { routers: [routes], collections: [store.collection], extensions: { erasers: [store.removeAllOf] } };
}
