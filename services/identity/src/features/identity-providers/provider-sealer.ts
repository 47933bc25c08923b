import { createSealer, deriveKeys, type KeyList } from '@gatehouse/core/sealing';
import type { ProviderSettings } from './provider-settings.ts';
import type { StoredProvider } from './stored-provider.ts';

/** Keeps the secrets of providers sealed under the master key. */
export function createProviderSealer(masterKeys: KeyList) {
  const sealer = createSealer(deriveKeys(masterKeys, 'identity providers'));
  return {
    seal(
      id: string,
      { client_secret, private_key, ...settings }: ProviderSettings,
    ): Pick<StoredProvider, 'id' | 'settings' | 'sealedSecrets'> {
      return { id, settings, sealedSecrets: sealer.seal(JSON.stringify({ client_secret, private_key }), id) };
    },
    /** The settings with the secrets. Throws when the master key is not the one that they were sealed under. */
    open: ({ id, settings, sealedSecrets }: StoredProvider): ProviderSettings => ({
      ...(settings as ProviderSettings),
      ...JSON.parse(sealer.open(sealedSecrets, id)),
      id,
    }),
  };
}
export type ProviderSealer = ReturnType<typeof createProviderSealer>;
