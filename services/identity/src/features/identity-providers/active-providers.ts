import type { Logger } from '@gatehouse/core/logger';
import type { IdentityProvider } from '../../core/foundation/identity-provider.ts';
import type { SignInMethod } from '../../core/sessions/sign-in-method.ts';
import type { LinkedIdentities } from './linked-identities.ts';
import type { ProviderSealer } from './provider-sealer.ts';
import { providerOf } from './provider-settings.ts';
import type { ProviderStore, StoredProvider } from './stored-provider.ts';
import type { UpstreamClient } from './upstream-client.ts';

/** A provider with what makes it work. */
export type ActiveProvider = {
  provider: IdentityProvider;
  client: UpstreamClient;
  linked: LinkedIdentities;
  method: SignInMethod;
  /** Undefined for one of the setting. */
  stored?: StoredProvider;
};

/** The providers of the setting, and those that admins have added. People can sign in by those that are enabled. */
export type ActiveProviders = {
  /** Those of the setting first. */
  list(): readonly ActiveProvider[];
  find(id: string): ActiveProvider | undefined;
  /** Takes over what has changed in the database. */
  reload(): Promise<void>;
};

export function createActiveProviders(options: {
  configured: readonly IdentityProvider[];
  store: Pick<ProviderStore, 'list'>;
  sealer: Pick<ProviderSealer, 'open'>;
  /** `isStored`: whether somebody else than the operator may have chosen its addresses. */
  activate(provider: IdentityProvider, isStored: boolean): ActiveProvider;
  /** The methods of all features, among which those of the providers are kept up to date. */
  signInMethods: SignInMethod[];
  logger: Logger;
}): ActiveProviders {
  const { store, sealer, activate, signInMethods, logger } = options;
  const configured = options.configured.map((provider) => activate(provider, false));
  let active: readonly ActiveProvider[] = [];
  let [begun, done] = [0, 0];
  replace(configured);

  function replace(next: readonly ActiveProvider[]): void {
    const former = new Set(active.map(({ method }) => method));
    const others = signInMethods.filter((method) => !former.has(method));
    const enabled = next.filter(({ provider }) => provider.isEnabled).map(({ method }) => method);
    signInMethods.splice(0, signInMethods.length, ...others, ...enabled);
    active = next;
  }

  const find = (id: string) => active.find(({ provider }) => provider.id === id);

  function activeOf(stored: StoredProvider): ActiveProvider[] {
    const before = find(stored.id);
    if (before !== undefined && before.stored === undefined) return [];
    // It keeps the metadata that it has fetched.
    if (before?.stored?.updatedAt.getTime() === stored.updatedAt.getTime()) return [before];
    try {
      return [{ ...activate(providerOf(sealer.open(stored)), true), stored }];
    } catch (error) {
      // The others still sign people in.
      logger.error({ err: error, provider: stored.id }, 'an identity provider cannot be used');
      return [];
    }
  }

  return {
    list: () => active,
    find,
    async reload() {
      const reload = ++begun;
      const stored = await store.list();
      // A list that was read later is newer.
      if (reload < done) return;
      done = reload;
      replace([...configured, ...stored.flatMap(activeOf)]);
    },
  };
}
