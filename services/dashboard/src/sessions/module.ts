import type { Logger } from '@gatehouse/core/logger';
import type { KeyList } from '@gatehouse/core/sealing';
import { DASHBOARD } from '@gatehouse/core/services';
import type { Connection } from 'mongoose';
import { createOAuthClient } from './oauth-client.ts';
import { createSessionStore } from './session-store.ts';
import { createSessions } from './sessions.ts';

type SessionsConfig = {
  publicUrl: string;
  serviceUrls: { readonly identity: string };
  clientSecret?: string | undefined;
  clientAssertionFile?: string | undefined;
  masterKeys: KeyList;
  idleSeconds: number;
  sessionSeconds: number;
};

/** Signing in and out, and the sessions in between. */
export function createSessionsModule(connection: Connection, config: SessionsConfig, logger: Logger) {
  const store = createSessionStore(connection);
  const client = createOAuthClient({
    issuer: config.publicUrl,
    identityUrl: config.serviceUrls.identity,
    clientId: DASHBOARD,
    clientSecret: config.clientSecret,
    clientAssertionFile: config.clientAssertionFile,
  });
  const sessions = createSessions({ ...config, store, client, logger });
  return { sessions, oauth: client, signOutUrl: client.signOutUrl, collections: [store.collection] };
}
