import { createApp, handlerOf } from '@gatehouse/http/app';
import { authenticate, createCallLimits } from '@gatehouse/http/auth';
import { v2Body } from '@gatehouse/http/error-bodies';
import { ServiceError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/logger';
import { isUnder, PUBLIC_PREFIXES } from '@gatehouse/kit/routes';
import type { Service } from '@gatehouse/kit/service';
import { createDatabase } from '@gatehouse/mongo/database';
import { onceInDatabase } from '@gatehouse/mongo/once';
import { apiAudience } from '@gatehouse/tokens/scopes';
import { createTokenVerifier } from '@gatehouse/tokens/verifier';
import type { UsersConfig } from './config.ts';
import { createPasswordHasher } from './passwords.ts';
import { mountProfile } from './profile.ts';
import { profileA } from './profiles/a.ts';
import { createUsers, type NewUser, type Users } from './user.ts';
import { createUserStore } from './user-store.ts';

const PROFILES = [profileA];

/** The users service: owns accounts, and serves them in the interface's profiles. */
export function createUsersService(config: UsersConfig, parentLogger: Logger): Service {
  const logger = parentLogger.child({ service: 'users' });
  const database = createDatabase({ uri: config.mongodbUri, name: 'users', logger });
  const store = createUserStore(database.connection);
  const users = createUsers(store, createPasswordHasher({ concurrency: config.hashConcurrency }));
  const verifier = createTokenVerifier({
    issuer: config.publicUrl,
    audience: apiAudience(config.publicUrl),
    jwksUri: `${config.identityUrl}/.well-known/jwks.json`,
  });

  const app = createApp({
    logger,
    errorBodyFor: (path) => PROFILES.find(({ prefix }) => isUnder(path, prefix))?.errorBody ?? v2Body,
    translate: database.unavailable,
  });
  const guard = authenticate(verifier, config.rateLimit === 'on' ? createCallLimits() : undefined);
  for (const profile of PROFILES) mountProfile(app, profile, { users, authenticate: guard });

  let started = false;
  return {
    name: 'users',
    prefixes: PUBLIC_PREFIXES.users,
    handle: handlerOf(app),
    async start() {
      await app.ready();
      await database.start();
      if (config.firstUsers.length > 0) {
        await onceInDatabase(database.connection, 'first users', () => createFirst(users, config.firstUsers));
      }
      started = true;
    },
    async stop() {
      await app.close();
      await database.stop();
    },
    unready: async () => (started ? database.unready() : 'starting'),
  };
}

/** Creates who is not there yet. Whoever has the name or the address already is left as they are. */
async function createFirst(users: Users, drafts: readonly NewUser[]): Promise<void> {
  for (const draft of drafts) {
    try {
      await users.create(draft);
    } catch (error) {
      if (!(error instanceof ServiceError && error.kind === 'conflict')) throw error;
    }
  }
}
