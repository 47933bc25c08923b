import type { EventTransport } from '@gatehouse/events/local-events';
import { createNatsBroadcast } from '@gatehouse/events/nats-broadcast';
import { type ErrorBody, v2Body } from '@gatehouse/http/error-bodies';
import { createCallLimits } from '@gatehouse/http/identify-caller';
import { createLifecycle } from '@gatehouse/kit/lifecycle';
import type { Logger } from '@gatehouse/kit/logger';
import type { Service } from '@gatehouse/kit/service';
import { isUnder } from '@gatehouse/kit/services';
import { createDatabase, type Database } from '@gatehouse/mongo/database';
import { createIdempotencyStore, IDEMPOTENCY_KEYS } from '@gatehouse/mongo/idempotency-store';
import { createSweeper } from '@gatehouse/mongo/sweeper';
import type { OpenApiOptions } from '@gatehouse/openapi/operation';
import { createApiKeyResolver } from '@gatehouse/tokens/api-keys';
import { createCredentialVerifier } from '@gatehouse/tokens/credentials';
import { createIdentityClient } from '@gatehouse/tokens/identity-client';
import {
  clientCredentialsGrant,
  createInternalClient,
  type InternalClient,
} from '@gatehouse/tokens/internal-client';
import { createRevocationFeed, type RevocationBroadcast } from '@gatehouse/tokens/revocation-feed';
import type { RevocationSet } from '@gatehouse/tokens/revocations';
import { apiAudience, internalAudience } from '@gatehouse/tokens/scopes';
import { createTokenVerifier } from '@gatehouse/tokens/verifier';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { createApp, handlerOf } from './app.ts';
import { authenticate } from './authenticate.ts';
import { DEFAULT_FILTERS_SUNSET, type ResourceConfig } from './config.ts';
import type { MountOptions } from './mount-resource.ts';

/** What a process may bring. Both are started and stopped by who made them; natsUrl must be set without a broadcast. */
export type ResourceDependencies = {
  broadcast?: RevocationBroadcast | undefined;
  /** Takes the events of the service; without it nobody listens. */
  events?: EventTransport | undefined;
};

/** What a service says of itself before any of it is made. */
export type ResourceServiceDefinition = {
  /** As in the table of services; its database and its OpenAPI document have the same name. */
  name: string;
  /** All that it serves (see prefixesOf). */
  prefixes: readonly string[];
  /** Its paths, each with the profiles that are served there; the first says how errors are written. */
  paths: readonly {
    prefix: string;
    profiles: readonly { name: string; about: string; errorBody: ErrorBody }[];
  }[];
  document: Pick<OpenApiOptions, 'title' | 'description' | 'errorExamples'>;
};

/** What the parts of a service are made with. */
export type ResourceContext = {
  /** For models; connected when prepare() is called. */
  connection: Database['connection'];
  logger: Logger;
  /** For the internal routes of identity. */
  identity: InternalClient;
  revocations: RevocationSet;
  events: EventTransport | undefined;
};

/** What is the service's own. */
export type ResourceParts = {
  routes(app: FastifyInstance, tools: RouteTools): void;
  /** Runs once the database is there, before the service is ready. */
  prepare?(): Promise<void>;
  /** Is started once the service is prepared, and stopped before the database is closed. */
  background?: readonly { start(): void; stop(): Promise<void> }[];
  /** Collections from which the documents whose `expires_at` has passed are removed. */
  expiring?: readonly string[];
};

export type RouteTools = {
  /** For mountResource, but for the defaults of shared paths. */
  mountOptions: MountOptions;
  /** The hook for routes below /internal: it takes only tokens of other services. */
  authenticateInternal: onRequestAsyncHookHandler;
};

/**
 * A service that serves resources from a database of its own: takes the credentials that identity issues, follows what
 * is revoked, and answers 503 while it waits for what it needs. `build` makes what is the service's own.
 */
export function createResourceService(
  definition: ResourceServiceDefinition,
  config: ResourceConfig,
  parentLogger: Logger,
  dependencies: ResourceDependencies,
  build: (context: ResourceContext) => ResourceParts,
): Service {
  const { name } = definition;
  const { publicUrl, identityUrl, staleAfterSeconds, filtersSunset = DEFAULT_FILTERS_SUNSET } = config;
  const logger = parentLogger.child({ service: name });
  const database = createDatabase({ uri: config.mongodbUri, name, logger });
  const { connection } = database;
  const identity = createInternalClient({
    service: 'identity',
    url: identityUrl,
    requestToken: clientCredentialsGrant({
      tokenUrl: `${identityUrl}/oauth2/token`,
      issuer: publicUrl,
      clientId: name,
      clientSecret: config.clientSecret,
    }),
  });
  const { revocations, resolveApiKey } = createIdentityClient(identity);
  const ownBroadcast = dependencies.broadcast === undefined ? natsBroadcast(config, name, logger) : undefined;
  const feed = createRevocationFeed({
    broadcast: dependencies.broadcast ?? (ownBroadcast as RevocationBroadcast),
    fetch: revocations,
    logger,
    ...(staleAfterSeconds === undefined ? {} : { staleAfterSeconds }),
  });
  const idempotencyKeys = createIdempotencyStore(connection);
  const { events } = dependencies;
  const parts = build({ connection, logger, identity, revocations: feed.set, events });
  const { background = [], expiring = [] } = parts;
  const sweeper = createSweeper(connection, [IDEMPOTENCY_KEYS, ...expiring], { logger });

  const verification = {
    issuer: publicUrl,
    jwksUri: `${identityUrl}/.well-known/jwks.json`,
    revocations: feed.set,
  };
  const credentials = createCredentialVerifier({
    tokens: createTokenVerifier({ ...verification, audience: apiAudience(publicUrl) }),
    apiKeys: createApiKeyResolver({ resolve: resolveApiKey, set: feed.set }),
    feed,
    publicUrl,
  });
  // Without the feed's check: identity must be able to ask here while it cannot tell what is revoked.
  const internalCredentials = createCredentialVerifier({
    tokens: createTokenVerifier({ ...verification, audience: internalAudience(publicUrl, name) }),
    publicUrl,
  });
  const app = createApp({
    logger,
    errorBodyFor: errorBodyOf(definition),
    translate: database.unavailable,
    openapi: { ...documentOf(definition), origin: publicUrl },
  });
  parts.routes(app, {
    mountOptions: {
      authenticate: authenticate(credentials, config.rateLimit === 'on' ? createCallLimits() : undefined),
      idempotencyKeys,
      deprecation: { sunset: filtersSunset },
    },
    authenticateInternal: authenticate(internalCredentials),
  });

  async function startStore(): Promise<void> {
    await database.start();
    await parts.prepare?.();
    for (const task of [...background, sweeper]) task.start();
  }

  const lifecycle = createLifecycle([
    ownBroadcast ?? {},
    // Each of them waits for something else, and neither is to wait for the other.
    { start: () => Promise.all([feed.start(), startStore()]) },
    ...[database, feed, ...background, sweeper].map(({ stop }) => ({ stop })),
    { stop: () => app.close() },
  ]);
  let started = false;
  return {
    name,
    prefixes: definition.prefixes,
    handle: handlerOf(app),
    async start() {
      await app.ready();
      await lifecycle.start();
      started = true;
    },
    stop: lifecycle.stop,
    unready: async () => (await database.unready()) ?? feed.unready() ?? (started ? undefined : 'starting'),
  };
}

function natsBroadcast({ natsUrl }: ResourceConfig, name: string, logger: Logger) {
  if (natsUrl === undefined) throw new Error('there is neither a broadcast nor a NATS server to make one of');
  return createNatsBroadcast({ url: natsUrl, name, logger });
}

/** How errors are written below a path; as in the latest version where no profile says so. */
function errorBodyOf({ paths }: ResourceServiceDefinition): (path: string) => ErrorBody {
  return (path) => paths.find(({ prefix }) => isUnder(path, prefix))?.profiles[0]?.errorBody ?? v2Body;
}

function documentOf({ name, paths, document }: ResourceServiceDefinition): OpenApiOptions {
  return {
    ...document,
    // Of the interface.
    version: '2.1.0',
    license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    path: `/openapi/${name}.json`,
    tags: [
      ...paths.map(({ prefix, profiles }) => {
        const lines = profiles.map((profile) => `- **${profile.name}**: ${profile.about}`);
        return { name: prefix, description: ['Profiles:', '', ...lines.sort()].join('\n') };
      }),
      { name: 'guides', description: 'What is said of the interface in whole sentences.' },
    ],
  };
}
