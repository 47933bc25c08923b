import type { KeyList } from '@gatehouse/core/sealing';
import type { Connection } from 'mongoose';
import { createProviderSealer } from './provider-sealer.ts';
import { createProviderStore } from './stored-provider-store.ts';

/** The secrets of providers, for the command that seals everything under another master key. */
export const sealedProviderSecrets = {
  name: 'secrets of identity providers',
  async reseal(connection: Connection, masterKeys: KeyList): Promise<number> {
    const store = createProviderStore(connection);
    const { seal, open } = createProviderSealer(masterKeys);
    let count = 0;
    for (const stored of await store.list()) {
      if (await store.replace(stored, { ...stored, ...seal(stored.id, open(stored)) })) count += 1;
    }
    return count;
  },
};
