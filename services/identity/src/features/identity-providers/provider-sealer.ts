import { createHmac } from 'node:crypto';
import { createSealer, deriveKeys, type KeyList } from '@gatehouse/core/sealing';
import type { ProviderSettings } from './provider-settings.ts';
import type { StoredProvider } from './stored-provider.ts';

/** A digest by which somebody who has a secret sees whether it is the stored one: HMAC-SHA256 with this key, both as base64url. */
export type SecretDigest = { name: string; key: string; digest: string };

const hmac = (key: Buffer | string, text: string) =>
  createHmac('sha256', key).update(text).digest('base64url');

/** Keeps the secrets of providers sealed under the master key. */
export function createProviderSealer(masterKeys: KeyList) {
  const sealer = createSealer(deriveKeys(masterKeys, 'identity providers'));
  const [digestKey = Buffer.alloc(0)] = deriveKeys(
    masterKeys,
    'digests of the secrets of identity providers',
  );
  const open = ({ id, settings, sealedSecrets }: StoredProvider): ProviderSettings => ({
    ...(settings as ProviderSettings),
    ...JSON.parse(sealer.open(sealedSecrets, id)),
    id,
  });
  return {
    seal(
      id: string,
      { client_secret, private_key, ...settings }: ProviderSettings,
    ): Pick<StoredProvider, 'id' | 'settings' | 'sealedSecrets'> {
      return { id, settings, sealedSecrets: sealer.seal(JSON.stringify({ client_secret, private_key }), id) };
    },
    /** The settings with the secrets. Throws when the master key is not the one that they were sealed under. */
    open,
    /** The digests of the secrets, each with a key of its own: equal secrets of two providers do not show. */
    digests(stored: StoredProvider): SecretDigest[] {
      const { client_secret, private_key } = open(stored);
      return Object.entries({ client_secret, private_key }).flatMap(([name, secret]) => {
        if (secret === undefined) return [];
        const key = hmac(digestKey, `${stored.id} ${name}`);
        return [{ name, key, digest: hmac(key, secret) }];
      });
    },
  };
}
export type ProviderSealer = ReturnType<typeof createProviderSealer>;
