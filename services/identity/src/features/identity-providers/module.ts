import { createAddressLimiter } from '@gatehouse/api/http/rate-limit';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import { deriveKeys } from '@gatehouse/core/sealing';
import { createOutbound } from '@gatehouse/outbound/outbound';
import type { Credentials, PersonalDataSection } from '../../core/extensions.ts';
import type { IdentityProvider } from '../../core/foundation/identity-provider.ts';
import { FAILED_AT_PROVIDERS, SIGN_UPS } from '../../core/limits/bounds.ts';
import { storeFields } from '../../core/oidc/epochs/store-fields.ts';
import type { ProviderExtension } from '../../core/oidc/provider-options.ts';
import type { Ports, WithSettings } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { type ActiveProvider, createActiveProviders } from './active-providers.ts';
import { createAuthorizationStates } from './authorization-state.ts';
import { callbackPath, callbackRoutes } from './callback-routes.ts';
import { CONNECTED_ACCOUNT_CHANGES } from './connected-account-notices.ts';
import { addConnectedAccountRoutes } from './connected-account-routes.ts';
import { identityProviderRoutes } from './identity-provider-routes.ts';
import { createLinkedIdentities } from './linked-identities.ts';
import { connectionId, linkedIdentityId } from './linked-identity.ts';
import { createLinkedIdentityStore } from './linked-identity-store.ts';
import { notificationRoutes } from './notification-routes.ts';
import { CONNECTED_ACCOUNTS } from './provider-pages.ts';
import { createProviderSealer } from './provider-sealer.ts';
import { providerSignIn, REFUSED_PROVIDER, UNLINKED_IDENTITY } from './provider-sign-in.ts';
import type { identityProviderSettings } from './settings.ts';
import { providerSupport } from './stored-provider.ts';
import { createProviderStore } from './stored-provider-store.ts';
import { createUpstreamClient, UPSTREAM_BOUNDS } from './upstream-client.ts';
import { isIssuerOf } from './upstream-identity.ts';
import { createEndUpstreamSessions } from './upstream-logout.ts';
import { trackUpstreamSessions } from './upstream-session.ts';

/** How soon a replica knows of what was changed by another. */
const RELOAD_MS = 5000;
/** How long somebody may take at a provider. */
const REQUEST_SECONDS = 600;

/** Signing in by other providers (OpenID Connect, and GitHub's OAuth), and the page on which people connect them. */
export function identityProviders(
  core: Ports<'accounts' | 'sessions' | 'tokens' | 'pages'> & WithSettings<typeof identityProviderSettings>,
): IdentityModule {
  const { config, extensions, issuer } = core;
  const store = createLinkedIdentityStore(core.connection, core.removedMethods);
  // Also what was linked to providers that are configured no more: they can come back.
  const credentials: Credentials = { ...store, name: 'connected_accounts' };
  const personalData: PersonalDataSection = {
    name: 'connected_accounts',
    rows: async function* ({ id }) {
      for (const { provider, issuer, subject, label, createdAt, lastUsedAt } of await store.list(id)) {
        yield { provider, issuer, subject, label, created_at: createdAt, last_used_at: lastUsedAt };
      }
    },
  };
  const states = createAuthorizationStates({
    keys: deriveKeys(core.masterKeys, 'authorization requests'),
    seconds: REQUEST_SECONDS,
    useOnce: core.store.useOnce,
  });
  const failures = createAddressLimiter(FAILED_AT_PROVIDERS, core.sharedLimits);
  const { count: countSignUp } = createAddressLimiter(SIGN_UPS, core.sharedLimits);
  const outbound = createOutbound({ to: 'configured', ...UPSTREAM_BOUNDS });
  const guarded = createOutbound({
    to: 'public',
    networks: config.providerNetworks ?? [],
    ...UPSTREAM_BOUNDS,
  });
  const providerStore = createProviderStore(core.connection);
  const sealer = createProviderSealer(core.masterKeys);
  const activate = (provider: IdentityProvider, isStored: boolean): ActiveProvider => {
    const redirectUri = issuer + callbackPath(provider.id);
    const client = createUpstreamClient(provider, { redirectUri, outbound: isStored ? guarded : outbound });
    const linked = createLinkedIdentities({ ...core, provider, store });
    const signUp = provider.signUp ?? (config.signUp === 'on' ? 'open' : 'off');
    const { useOnce } = core.store;
    const method = providerSignIn({
      ...{ ...core, provider, client, linked, states, signUp, countSignUp, failures, useOnce },
    });
    return { provider, client, linked, method };
  };
  const active = createActiveProviders({
    ...{ activate, sealer, logger: core.logger, signInMethods: extensions.signInMethods },
    ...{ configured: config.identityProviders ?? [], store: providerStore },
  });
  const provider: ProviderExtension = {
    attach(built) {
      storeFields(built.Interaction, [UNLINKED_IDENTITY, REFUSED_PROVIDER]);
      trackUpstreamSessions(built);
    },
  };
  addConnectedAccountRoutes(core.accountPages, { ...core, active, states });
  const endSessions = createEndUpstreamSessions({ ...core, store });
  const api = identityProviderRoutes({
    ...{ ...core, active, sealer, store: providerStore, linkedIdentities: store },
    activate: (provider) => activate(provider, true),
  });
  // Of one process, what changes the providers reloads them itself.
  const reloading = createPeriodicTask({
    run: active.reload,
    everyMs: RELOAD_MS,
    onError: (error) =>
      core.logger.warn({ err: error }, 'identity providers could not be read; trying again'),
  });
  const findLinked = async (identity: { issuer: string; subject: string }) => {
    const linked = await store.find(linkedIdentityId(identity));
    const { provider: by, stored } = active.find(linked?.provider ?? '') ?? {};
    if (linked === undefined || by?.isEnabled !== true || !isIssuerOf(by, identity.issuer)) return undefined;
    const connection = { kind: 'grant', id: connectionId(linked) };
    const restsOn = stored === undefined ? [connection] : [connection, providerSupport(stored)];
    return { userId: linked.userId, provider: by.label, restsOn };
  };
  return {
    apis: [api],
    routers: [
      callbackRoutes({ active, states }),
      notificationRoutes({ ...core, active, failures, endSessions, useOnce: core.store.useOnce }),
    ],
    parts: [{ start: active.reload }, ...(core.isOnlyWriter ? [] : [reloading])],
    extensions: {
      linkedPeople: [findLinked],
      undoableChanges: CONNECTED_ACCOUNT_CHANGES,
      ...{ credentials: [credentials], personalData: [personalData], provider: [provider] },
      accountSections: [
        {
          ...{ path: CONNECTED_ACCOUNTS, label: 'Connected accounts', subject: 'sign-in method' },
          isShown: () => active.list().length > 0,
        },
      ],
      erasers: [(userId) => store.removeAll(userId)],
    },
  };
}
