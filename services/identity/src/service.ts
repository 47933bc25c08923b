import { createLifecycle } from '@gatehouse/core/lifecycle';
import type { Logger } from '@gatehouse/core/logger';
import { prefixesOf } from '@gatehouse/core/services';
import { createBoundKeeper } from '@gatehouse/data/bounded';
import { RATE_LIMIT_BOUND, RATE_LIMITS } from '@gatehouse/data/rate-limit-store';
import { createSweeper } from '@gatehouse/data/sweeper';
import { runProcess } from '@gatehouse/server/process';
import type { Service } from '@gatehouse/server/service';
import { createIdentityApp } from './app.ts';
import { type IdentityConfig, readIdentityConfig, settings } from './config.ts';
import { createCore } from './core/core.ts';
import { addExtensions } from './core/extensions.ts';
import type { IdentityDependencies } from './core/foundation/foundation.ts';
import { BOUNDS } from './core/limits/bounds.ts';
import { providerRoutes } from './core/oidc/provider-routes.ts';
import { access } from './features/access/module.ts';
import { account } from './features/account/module.ts';
import { apiKeys } from './features/api-keys/module.ts';
import { applicationUsers } from './features/application-users/module.ts';
import { applications } from './features/applications/module.ts';
import { auditLog } from './features/audit/module.ts';
import { auditExport } from './features/audit-export/module.ts';
import { authenticatorApp } from './features/authenticator-app/module.ts';
import { backchannelLogout } from './features/backchannel-logout/module.ts';
import { breachedPasswords } from './features/breached-passwords/module.ts';
import { clientKeys } from './features/client-keys/module.ts';
import { clientMetadataDocuments } from './features/client-metadata-documents/module.ts';
import { clientSecrets } from './features/client-secrets/module.ts';
import { configuration } from './features/configuration/module.ts';
import { consents } from './features/consents/module.ts';
import { device } from './features/device/module.ts';
import { events } from './features/events/module.ts';
import { factorRecovery } from './features/factor-recovery/module.ts';
import { identityProviders } from './features/identity-providers/module.ts';
import { impersonation } from './features/impersonation/module.ts';
import { internal } from './features/internal/module.ts';
import { invitations } from './features/invitations/module.ts';
import { login } from './features/login/module.ts';
import { members } from './features/members/module.ts';
import { oauth } from './features/oauth/module.ts';
import { passkeys } from './features/passkeys/module.ts';
import { registration } from './features/registration/module.ts';
import { resources } from './features/resources/module.ts';
import { security } from './features/security/module.ts';
import { sessions } from './features/sessions/module.ts';
import { sharedSignals } from './features/shared-signals/module.ts';
import { signIn } from './features/sign-in/module.ts';
import { tokenExchange } from './features/token-exchange/module.ts';
import { transfers } from './features/transfers/module.ts';
import { trustedIssuers } from './features/trusted-issuers/module.ts';
import { wellKnown } from './features/well-known/module.ts';
import type { IdentityModule } from './identity-module.ts';
import { keys } from './keys/module.ts';
import { openApiRoutes } from './openapi/openapi-routes.ts';
import type { Operations } from './openapi/operations.ts';

/** In the order of their operations in the OpenAPI document. */
const FEATURES = [
  auditExport,
  oauth,
  tokenExchange,
  login,
  applications,
  configuration,
  transfers,
  members,
  applicationUsers,
  resources,
  sharedSignals,
  clientSecrets,
  apiKeys,
  trustedIssuers,
  registration,
  sessions,
  consents,
  access,
  impersonation,
  invitations,
  auditLog,
  events,
  keys,
  internal,
  signIn,
  breachedPasswords,
  device,
  clientKeys,
  clientMetadataDocuments,
  account,
  passkeys,
  identityProviders,
  authenticatorApp,
  factorRecovery,
  security,
  backchannelLogout,
  wellKnown,
];

/** The identity service: signs people in, issues tokens, and publishes the keys to verify them. */
export function createIdentityService(
  config: IdentityConfig,
  parentLogger: Logger,
  dependencies: IdentityDependencies = {},
): Service {
  const core = createCore(config, parentLogger, dependencies);
  const { database, usage, feed, connection, logger, provider } = core;
  const modules: IdentityModule[] = FEATURES.map((create) => create(core));
  for (const { extensions = {} } of modules) addExtensions(core.extensions, extensions);
  const apis = modules.flatMap((it) => it.apis ?? []);
  const pages = modules.flatMap((it) => it.pages ?? []);
  const operations: Operations = Object.assign(
    {},
    ...modules.flatMap((it) => [it.operations, ...(it.apis ?? []).map((api) => api.operations)]),
  );
  const routers = [
    ...modules.flatMap((it) => [...(it.apis ?? []).map((api) => api.router), ...(it.routers ?? [])]),
    providerRoutes(provider.middleware),
  ];
  const openApi = openApiRoutes({ origin: core.issuer, operations, routers, pages });
  const app = createIdentityApp({
    ...core,
    rateLimit: config.rateLimit === 'on',
    brand: config.brand,
    apis,
    pages,
    passwordPaths: modules.flatMap((it) => it.passwordPaths ?? []),
    routers: [openApi, ...routers],
  });
  const expiring = [core, ...modules].flatMap(({ collections }) => collections ?? []);
  if (core.sharedLimits !== undefined) expiring.push(RATE_LIMITS);
  let started = false;
  return {
    name: 'identity',
    prefixes: prefixesOf('identity'),
    handle: app.callback(),
    ...createLifecycle([
      ...core.connections,
      { stop: core.stopMail },
      // Stopped after everything that records, since it writes what is still buffered.
      { stop: core.audit.stop },
      // Before the keys, without which no token can be issued.
      core.revocations,
      ...modules.flatMap(({ parts }) => parts ?? []),
      feed,
      createBoundKeeper(connection, [...BOUNDS, RATE_LIMIT_BOUND], { logger }),
      core.erasures,
      createSweeper(connection, [...expiring, core.auditStore.collection], { logger }),
      { start: () => (started = true) },
    ]),
    migrate: database.migrate,
    ...(usage === undefined ? {} : { observe: usage.observe, flush: usage.flush }),
    metrics: () => [database, feed, ...modules].flatMap((it) => it.metrics?.() ?? []),
    unready: async () => (started ? ((await database.unready()) ?? feed.unready()) : 'starting'),
  };
}

export {
  AUTHORITY,
  AUTHORITY_EVENTS,
  type AuthorityEvent,
  type Outcome,
} from './core/authority/authority-table.ts';

export const program = {
  name: 'identity',
  settings,
  readConfig: readIdentityConfig,
  create: createIdentityService,
} as const;

if (import.meta.main) await runProcess(program);
