import { createRateLimiter } from '@gatehouse/http/rate-limit';
import { ServiceError, unavailable } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/logger';
import { requestInfo } from '@gatehouse/kit/requests';
import { PUBLIC_PREFIXES } from '@gatehouse/kit/routes';
import type { Service } from '@gatehouse/kit/service';
import { createDatabase } from '@gatehouse/mongo/database';
import { onceInDatabase } from '@gatehouse/mongo/once';
import { createSweeper } from '@gatehouse/mongo/sweeper';
import Router from '@koa/router';
import Koa, { type Middleware } from 'koa';
import compose from 'koa-compose';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { type ApplicationStore, hashSecret } from './application.ts';
import { createApplicationStore } from './application-store.ts';
import type { FirstMachine, IdentityConfig } from './config.ts';
import { oauthErrors } from './oauth-errors.ts';
import { createOidcStore } from './oidc-adapter.ts';
import { clientMetadata, createProvider } from './provider.ts';
import { createSealer, deriveKey } from './sealing.ts';
import { createSigningKeyStore } from './signing-key-store.ts';
import { loadSigningKeys } from './signing-keys.ts';
import { tokenRequest } from './token-request.ts';

/** The identity service: issues tokens, and tells the world the keys to verify them with. */
export function createIdentityService(config: IdentityConfig, parentLogger: Logger): Service {
  const logger = parentLogger.child({ service: 'identity' });
  const database = createDatabase({ uri: config.mongodbUri, name: 'identity', logger });
  const applications = createApplicationStore(database.connection);
  const signingKeys = createSigningKeyStore(database.connection);
  const store = createOidcStore(database.connection, async (id) => {
    const application = await applications.findById(id);
    return application === undefined ? undefined : clientMetadata(application);
  });
  const sweeper = createSweeper(database.connection, store.collections, { logger });

  // Replaced when the provider is built: at start, and whenever the signing keys change.
  let provider: Middleware = async () => {
    throw unavailable('The signing keys are not loaded yet.');
  };
  const faults = new WeakMap<object, unknown>();

  async function buildProvider(): Promise<void> {
    const oidc = createProvider({
      issuer: config.publicUrl,
      keys: await loadSigningKeys(signingKeys, createSealer(config.masterKey, 'signing keys')),
      cookieKey: deriveKey(config.masterKey, 'cookies').toString('base64url'),
      accessTokenAlgorithm: config.accessTokenAlgorithm,
      accessTokenLifetime: config.accessTokenLifetime,
      applications,
      store,
    });
    oidc.on('server_error', (ctx: KoaContextWithOIDC, error: unknown) => faults.set(ctx.res, error));
    provider = compose(oidc.middleware) as Middleware;
  }

  const router = new Router();
  router.post('/oauth/token', tokenRequest(['json', 'form']));
  router.post('/oauth2/token', tokenRequest(['form']));

  const app = new Koa();
  // oidc-provider builds its URLs from the request: they are the issuer's, whatever a caller says.
  const { protocol, host } = new URL(config.publicUrl);
  app.proxy = true;
  app.use(async (ctx, next) => {
    delete ctx.req.headers['x-forwarded-host'];
    ctx.req.headers['x-forwarded-proto'] = protocol.slice(0, -1);
    ctx.req.headers.host = host;
    const info = requestInfo(ctx.req);
    // No path of this service has an id or a secret in it, so the path is the route.
    info.route = ctx.path;
    await next();
    info.client = (ctx as Partial<KoaContextWithOIDC>).oidc?.entities.Client?.clientId;
  });
  app.use(oauthErrors({ logger, translate: database.unavailable, faultOf: (ctx) => faults.get(ctx.res) }));
  if (config.rateLimit === 'on') app.use(tokenLimit());
  app.use(router.routes());
  app.use(
    router.allowedMethods({
      throw: true,
      // A method that this router knows of no path.
      notImplemented: () =>
        new ServiceError('method_not_allowed', 'This path takes POST.', { headers: { allow: 'POST' } }),
      methodNotAllowed: () =>
        new ServiceError('method_not_allowed', 'This path takes POST.', { headers: { allow: 'POST' } }),
    }),
  );
  app.use((ctx, next) => provider(ctx, next));
  app.on('error', (error: NodeJS.ErrnoException) => {
    // A caller who hung up is in the log as the request's status 499.
    if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') logger.error({ err: error }, 'fault');
  });

  let started = false;
  return {
    name: 'identity',
    prefixes: PUBLIC_PREFIXES.identity,
    handle: app.callback(),
    async start() {
      await database.start();
      if (config.firstMachines.length > 0) {
        await onceInDatabase(database.connection, 'first machines', async () => {
          for (const machine of config.firstMachines) await createFirst(applications, machine);
        });
      }
      await buildProvider();
      sweeper.start();
      started = true;
    },
    async stop() {
      await sweeper.stop();
      await database.stop();
    },
    unready: async () => (started ? database.unready() : 'starting'),
  };
}

/** At most ten token requests a second from one address, over a minute. */
function tokenLimit(): Middleware {
  const limiter = createRateLimiter({ name: 'token', quota: 600, seconds: 60 });
  return async (ctx, next) => {
    if (ctx.method === 'POST') ctx.set(await limiter.count(requestInfo(ctx.req).address));
    await next();
  };
}

async function createFirst(applications: ApplicationStore, machine: FirstMachine): Promise<void> {
  await applications.insertIfAbsent({
    id: machine.clientId,
    name: machine.name,
    type: 'machine',
    owner: machine.owner,
    trusted: true,
    scopes: machine.scopes,
    secrets: [{ id: newId('sec'), hash: hashSecret(machine.clientSecret), createdAt: new Date() }],
    epoch: 0,
    createdAt: new Date(),
  });
}
