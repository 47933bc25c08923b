import { createLifecycle } from '@gatehouse/core/lifecycle';
import type { Logger } from '@gatehouse/core/logger';
import { isUnder, type ServiceName } from '@gatehouse/core/services';
import { createBoundKeeper } from '@gatehouse/data/bounded';
import { createDatabase, type Database } from '@gatehouse/data/database';
import { createErasures, type Erase } from '@gatehouse/data/erasures';
import { createIdempotencyStore, IDEMPOTENCY_KEYS } from '@gatehouse/data/idempotency-store';
import type { Migration } from '@gatehouse/data/migrations';
import { createRateLimitStore, RATE_LIMIT_BOUND, RATE_LIMITS } from '@gatehouse/data/rate-limit-store';
import { createSweeper } from '@gatehouse/data/sweeper';
import type { Broadcast } from '@gatehouse/events/broadcast';
import type { JobQueues } from '@gatehouse/events/job-queue';
import type { EventTransport, LocalEvents } from '@gatehouse/events/local-events';
import type { NatsBroadcast } from '@gatehouse/events/nats-broadcast';
import type { Service } from '@gatehouse/server/service';
import { createApiKeyResolver } from '@gatehouse/tokens/api-keys';
import { createCredentialVerifier } from '@gatehouse/tokens/credentials';
import { createIdentityClient } from '@gatehouse/tokens/identity-client';
import {
  clientCredentialsGrant,
  createInternalClient,
  type InternalClient,
} from '@gatehouse/tokens/internal-client';
import { createRevocationFeed, type RevocationBroadcast } from '@gatehouse/tokens/revocation-feed';
import { apiAudience, internalAudience } from '@gatehouse/tokens/scopes';
import { createTokenVerifier } from '@gatehouse/tokens/verifier';
import type { Revocation, RevocationSet } from '@gatehouse/verify/revocations';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { createConcurrencyLimit } from '../http/concurrency-limit.ts';
import { type ErrorBody, v2Body } from '../http/error-bodies.ts';
import { type CallLimits, createCallLimits } from '../http/identify-caller.ts';
import type { RateLimitStore } from '../http/rate-limit-store.ts';
import { createMessaging } from '../messaging.ts';
import { ABOUT_VERSION, GUIDES_TAG, INTERFACE } from '../openapi/interface.ts';
import type { OpenApiOptions } from '../openapi/operation.ts';
import { createApp, handlerOf } from './app.ts';
import { authenticate } from './authenticate.ts';
import { DEFAULT_FILTERS_SUNSET, type ResourceConfig } from './config.ts';
import { mountErasures } from './erasure-route.ts';
import type { MountOptions } from './mount-resource.ts';

/** Shared by the services of a process, which starts and stops them. Without a broadcast, natsUrl must be set. */
export type ResourceDependencies = {
  broadcast?: RevocationBroadcast | undefined;
  /** Takes the events of the service, which are published to NATS JetStream otherwise. */
  events?: EventTransport | LocalEvents | undefined;
};

/** The static description of a service. */
export type ResourceServiceDefinition = {
  /** As in SERVICES; also the name of its database and its OpenAPI document. */
  name: string;
  /** The path prefixes that it serves (see prefixesOf). */
  prefixes: readonly string[];
  /** Its paths and their profiles; the first profile of a path determines the error body. */
  paths: readonly {
    prefix: string;
    profiles: readonly { name: string; about: string; errorBody: ErrorBody }[];
  }[];
  document: Pick<OpenApiOptions, 'title' | 'description' | 'errorExamples'> & {
    /** The purpose of each object, by the last segment of its paths. */
    objects?: Readonly<Record<string, string>>;
  };
  /** The migrations of its database, in the order in which they are applied. */
  migrations?: readonly Migration[];
};

/** The dependencies from which a service builds its own parts. */
export type ResourceContext = {
  /** For defining collections; connected when prepare() is called. */
  connection: Database['connection'];
  logger: Logger;
  /** For the internal routes of identity. */
  identity: InternalClient;
  /** A client of the internal routes of another service, which is reached at this origin. */
  clientOf(service: ServiceName, url: string): InternalClient;
  revocations: RevocationSet;
  events: EventTransport | undefined;
  /** Counts for all replicas of the service, for limits of its own. */
  counters: RateLimitStore;
  /** Handles events of other services within this process; undefined if they come by NATS. */
  subscribe: LocalEvents['subscribe'] | undefined;
  /** To the other replicas of the service; undefined in a process without NATS. */
  broadcast: Broadcast | undefined;
  /** The current connection to NATS, if there is one; undefined if the process has no NATS. */
  nats: NatsBroadcast['connection'] | undefined;
  /** Makes the queues of the service, each once, before it starts. Jobs are announced to other replicas by NATS, if there is one. */
  queues: JobQueues;
};

/** The service's own parts. */
export type ResourceParts = {
  routes(app: FastifyInstance, dependencies: RouteDependencies): void;
  /** Runs once the database is connected, before the service is ready. */
  prepare?(): Promise<void>;
  /** Started after prepare(), stopped before the database is closed. */
  background?: readonly { start(): void; stop(): Promise<void> }[];
  /** Collections whose documents are removed once `expires_at` has passed. */
  expiring?: readonly string[];
  /** Called for each revocation, more than once for some; not necessarily after prepare(). */
  onRevocation?(revocation: Revocation): void;
  /** The metrics of the service at /metrics. */
  metrics?: Service['metrics'];
  /** Erases a deleted person's data, in a service that is among ERASING_SERVICES. */
  erase?: Erase;
};

type RouteDependencies = {
  /** For mountResource; `defaults` are to be added. */
  mountOptions: MountOptions;
  /** The hook for routes below /internal: it accepts only tokens of other services. */
  authenticateInternal: onRequestAsyncHookHandler;
};

/**
 * A service with its own database: it accepts the credentials that identity issues, follows revocations, and responds with
 * 503 while a dependency is unavailable. `build` makes the service's own parts.
 */
export function createResourceService(
  definition: ResourceServiceDefinition,
  config: ResourceConfig,
  parentLogger: Logger,
  dependencies: ResourceDependencies,
  build: (context: ResourceContext) => ResourceParts,
): Service {
  const { name, prefixes, migrations = [] } = definition;
  checkPaths(definition);
  const logger = parentLogger.child({ service: name });
  const { mongodbUri: uri, migrateAtStart } = config;
  const database = createDatabase({ uri, name, logger, migrations, migrateAtStart });
  const { connection } = database;
  const messaging = createMessaging(name, config.natsUrl, dependencies, logger);
  const { usage } = messaging;
  const clientOf = internalClients(name, config);
  const identity = clientOf('identity', config.identityUrl);
  const verification = createVerification(name, config, {
    identity,
    broadcast: messaging.broadcast,
    logger,
    onRevocation: (revocation) => parts.onRevocation?.(revocation),
  });
  const { feed } = verification;
  const counters = createRateLimitStore(connection);
  const own = { connection, logger, identity, clientOf, revocations: feed.set, counters };
  const parts: ResourceParts = build({ ...own, ...messaging.context });
  const { expiring = [], erase } = parts;
  const erasures = erase && createErasures(connection, { erase, logger });
  const sharedLimits = config.rateLimitStore === 'mongodb' ? counters : undefined;
  const limits = config.rateLimit === 'on' ? createCallLimits(sharedLimits) : undefined;
  const authenticate = verification.authenticate(limits);
  const app = createApp({
    logger,
    errorBodyFor: errorBodyOf(definition),
    translate: database.unavailable,
    authenticate,
    openapi: { ...documentOf(definition), origin: config.publicUrl },
  });
  const { authenticateInternal } = verification;
  parts.routes(app, {
    mountOptions: {
      authenticate,
      idempotencyKeys: createIdempotencyStore(connection),
      concurrency: createConcurrencyLimit(),
      deprecation: { sunset: config.filtersSunset ?? DEFAULT_FILTERS_SUNSET },
    },
    authenticateInternal,
  });
  if (erasures) mountErasures(app, { service: name, erasures, authenticate: authenticateInternal });

  const background = [
    ...(parts.background ?? []),
    ...(erasures === undefined ? [] : [erasures]),
    createSweeper(connection, [IDEMPOTENCY_KEYS, RATE_LIMITS, ...expiring], { logger }),
    createBoundKeeper(connection, [RATE_LIMIT_BOUND], { logger }),
  ];
  async function startStore(): Promise<void> {
    await database.start();
    await parts.prepare?.();
    for (const task of background) task.start();
  }

  const lifecycle = createLifecycle([
    ...messaging.connections,
    // In parallel: one waits for identity, the other for the database.
    { start: () => Promise.all([feed.start(), startStore()]) },
    ...[database, feed, ...background].map(({ stop }) => ({ stop })),
    { stop: () => app.close() },
  ]);
  let started = false;
  return {
    name,
    prefixes,
    handle: handlerOf(app),
    async start() {
      await app.ready();
      await lifecycle.start();
      started = true;
    },
    stop: lifecycle.stop,
    migrate: database.migrate,
    ...(usage === undefined ? {} : { observe: usage.observe, flush: usage.flush }),
    metrics: () => [...database.metrics(), ...feed.metrics(), ...(parts.metrics?.() ?? [])],
    unready: async () => (await database.unready()) ?? feed.unready() ?? (started ? undefined : 'starting'),
  };
}

/** Throws when a path of the service is not among those that are routed to it. */
function checkPaths({ name, prefixes, paths }: ResourceServiceDefinition): void {
  const unreachable = paths.find(({ prefix }) => !prefixes.some((it) => isUnder(prefix, it)));
  if (unreachable === undefined) return;
  throw new Error(
    `${unreachable.prefix} is below none of the prefixes of ${name} (packages/core/src/services.ts)`,
  );
}

/** Makes clients of other services' internal routes, which get their tokens from identity. */
function internalClients(name: string, { identityUrl, publicUrl, ...config }: ResourceConfig) {
  const requestToken = clientCredentialsGrant({
    tokenUrl: `${identityUrl}/oauth2/token`,
    issuer: publicUrl,
    clientId: name,
    clientSecret: config.clientSecret,
    clientAssertionFile: config.clientAssertionFile,
  });
  return (service: ServiceName, url: string) => createInternalClient({ service, url, requestToken });
}

/** Verifies credentials that identity has issued, and follows which of them are revoked. */
function createVerification(
  name: string,
  { publicUrl, identityUrl, staleAfterSeconds }: ResourceConfig,
  options: {
    identity: InternalClient;
    broadcast: RevocationBroadcast;
    logger: Logger;
    onRevocation(revocation: Revocation): void;
  },
) {
  const { revocations, resolveApiKey } = createIdentityClient(options.identity);
  let hasKeys = false;
  const feed = createRevocationFeed({
    broadcast: options.broadcast,
    fetch: async (since) => {
      // Together with the revocations, whose loading is retried until it succeeds, and awaited by start().
      if (!hasKeys) await Promise.all([tokens.loadKeys(), internalTokens.loadKeys()]);
      hasKeys = true;
      return revocations(since);
    },
    logger: options.logger,
    onRevocation: options.onRevocation,
    ...(staleAfterSeconds === undefined ? {} : { staleAfterSeconds }),
  });
  const issued = {
    issuer: publicUrl,
    jwksUri: `${identityUrl}/.well-known/jwks.json`,
    revocations: feed.set,
  };
  const tokens = createTokenVerifier({ ...issued, audience: apiAudience(publicUrl) });
  const internalTokens = createTokenVerifier({ ...issued, audience: internalAudience(publicUrl, name) });
  const credentials = createCredentialVerifier({
    tokens,
    apiKeys: createApiKeyResolver({ resolve: resolveApiKey, set: feed.set }),
    feed,
    publicUrl,
  });
  // Not dependent on the feed: identity must be able to call this service while it cannot serve revocations itself.
  const internalCredentials = createCredentialVerifier({ tokens: internalTokens, publicUrl });
  return {
    feed,
    authenticate: (limits: CallLimits | undefined) => authenticate(credentials, limits),
    authenticateInternal: authenticate(internalCredentials),
  };
}

/** The error body for a path; outside all paths, that of the latest version. */
function errorBodyOf({ paths }: ResourceServiceDefinition): (path: string) => ErrorBody {
  return (path) => paths.find(({ prefix }) => isUnder(path, prefix))?.profiles[0]?.errorBody ?? v2Body;
}

function documentOf({ name, paths, document }: ResourceServiceDefinition): OpenApiOptions {
  const { objects = {}, ...about } = document;
  return {
    ...about,
    ...INTERFACE,
    description: `${document.description}\n\n${ABOUT_VERSION}`,
    path: `/openapi/${name}.json`,
    tags: [
      ...paths.map(({ prefix, profiles }) => {
        const lines = profiles.map((profile) => `- **${profile.name}**: ${profile.about}`);
        const object = objects[prefix.split('/').at(-1) ?? ''];
        const list = ['Profiles:', '', ...lines.sort()].join('\n');
        return { name: prefix, description: [object, list].filter(Boolean).join('\n\n') };
      }),
      { name: GUIDES_TAG, description: 'Guides to the interface.' },
    ],
  };
}
