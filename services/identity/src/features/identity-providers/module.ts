import { createAddressLimiter } from '@gatehouse/api/http/rate-limit';
import { deriveKeys } from '@gatehouse/core/sealing';
import type { Core } from '../../core/core.ts';
import { FAILED_AT_PROVIDERS, SIGN_UPS } from '../../core/limits/bounds.ts';
import { storeFields } from '../../core/oidc/epochs/store-fields.ts';
import type { IdentityModule } from '../../identity-module.ts';
import { createAuthorizationStates } from './authorization-state.ts';
import { callbackPath, callbackRoutes } from './callback-routes.ts';
import { addConnectedAccountRoutes } from './connected-account-routes.ts';
import { createLinkedIdentities } from './linked-identities.ts';
import { createLinkedIdentityStore } from './linked-identity-store.ts';
import { logoutRoutes } from './logout-routes.ts';
import { CONNECTED_ACCOUNTS } from './provider-pages.ts';
import { providerSignIn, REFUSED_PROVIDER, UNLINKED_IDENTITY } from './provider-sign-in.ts';
import { createUpstreamClient } from './upstream-client.ts';
import { createEndUpstreamSessions } from './upstream-logout.ts';
import { trackUpstreamSessions } from './upstream-session.ts';

/** How long somebody may take at a provider. */
const REQUEST_SECONDS = 600;

/** Signing in by other providers (OpenID Connect, and GitHub's OAuth), and the page on which people connect them. */
export function identityProviders(core: Core): IdentityModule {
  const { config, extensions, issuer } = core;
  const store = createLinkedIdentityStore(core.connection, core.removedMethods);
  // Also what was linked to providers that are configured no more: they can come back.
  extensions.credentials.push({ ...store, name: 'connected_accounts' });
  const erase = async (userId: string) => void (await store.removeAll(userId));
  const configured = config.identityProviders ?? [];
  if (configured.length === 0) return { erase };
  const states = createAuthorizationStates({
    keys: deriveKeys(core.masterKeys, 'authorization requests'),
    seconds: REQUEST_SECONDS,
    useOnce: core.store.useOnce,
  });
  const failures = createAddressLimiter(FAILED_AT_PROVIDERS, core.sharedLimits);
  const { count: countSignUp } = createAddressLimiter(SIGN_UPS, core.sharedLimits);
  const providers = configured.map((provider) => ({
    provider,
    client: createUpstreamClient(provider, { redirectUri: issuer + callbackPath(provider.id) }),
    linked: createLinkedIdentities({ ...core, provider, store }),
  }));
  for (const it of providers) {
    const signUp = it.provider.signUp ?? (config.signUp === 'on' ? 'open' : 'off');
    extensions.signInMethods.push(
      providerSignIn({ ...core, ...it, states, signUp, countSignUp, failures, useOnce: core.store.useOnce }),
    );
  }
  extensions.provider.push({
    attach(provider) {
      storeFields(provider.Interaction, [UNLINKED_IDENTITY, REFUSED_PROVIDER]);
      trackUpstreamSessions(provider);
    },
  });
  core.accountPages.addSections({ path: CONNECTED_ACCOUNTS, label: 'Connected accounts' });
  addConnectedAccountRoutes(core.accountPages, { ...core, providers, states });
  const callbacks = callbackRoutes({ providers: configured.map(({ id }) => id), states });
  const endSessions = createEndUpstreamSessions({ ...core, store, useOnce: core.store.useOnce });
  const logouts = logoutRoutes({ providers, failures, endSessions });
  return { routers: [callbacks, logouts], erase };
}
