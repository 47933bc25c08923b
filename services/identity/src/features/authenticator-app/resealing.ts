import type { KeyList } from '@gatehouse/core/sealing';
import type { Connection } from 'mongoose';
import { createRemovedMethods } from '../../core/sessions/removed-methods.ts';
import { createAuthenticatorAppStore } from './authenticator-app-store.ts';
import { resealAuthenticatorApps } from './authenticator-apps.ts';

/** The secrets of authenticator apps, for the command that seals everything under another master key. */
export const sealedAuthenticatorApps = {
  name: 'secrets of authenticator apps',
  reseal: (connection: Connection, masterKeys: KeyList) =>
    resealAuthenticatorApps(
      createAuthenticatorAppStore(connection, createRemovedMethods(connection)),
      masterKeys,
    ),
};
