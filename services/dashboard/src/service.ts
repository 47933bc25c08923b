import { createLifecycle } from '@gatehouse/core/lifecycle';
import type { Logger } from '@gatehouse/core/logger';
import { DASHBOARD, prefixesOf } from '@gatehouse/core/services';
import { createDatabase } from '@gatehouse/data/database';
import { createIdempotencyStore, IDEMPOTENCY_KEYS } from '@gatehouse/data/idempotency-store';
import { createSweeper } from '@gatehouse/data/sweeper';
import { runProcess } from '@gatehouse/server/process';
import type { Service } from '@gatehouse/server/service';
import { createApi } from './api/api.ts';
import { type DashboardConfig, readDashboardConfig, settings } from './config.ts';
import { docsRoutes } from './docs/docs-routes.ts';
import { createLibrary } from './docs/guides/library.ts';
import { createApiDescription } from './docs/openapi/source.ts';
import { createDocsSearch } from './docs/search/search.ts';
import { mcpRoutes } from './features/mcp/mcp-routes.ts';
import { preferences } from './features/preferences/preferences.ts';
import { tryRequest } from './features/reference/try-request.ts';
import { search } from './features/search/search.ts';
import { createCookies } from './http/cookies.ts';
import { createForms } from './http/forms.ts';
import { createRepeatedForms } from './http/repeated-forms.ts';
import { createImportsModule } from './imports/module.ts';
import { dashboardSections } from './navigation.ts';
import { createDashboardApp } from './routes/app.ts';
import { assetRoutes } from './routes/asset-routes.ts';
import { createDashboardRouter } from './routes/dashboard-router.ts';
import { landingRoutes } from './routes/landing-routes.ts';
import { signInRoutes } from './routes/sign-in-routes.ts';
import { createSessionsModule } from './sessions/module.ts';

/** The developer dashboard: pages for people, made of what the public API returns to them. */
export function createDashboardService(config: DashboardConfig, parentLogger: Logger): Service {
  const logger = parentLogger.child({ service: DASHBOARD });
  const { publicUrl, serviceUrls, masterKeys, migrateAtStart } = config;
  const database = createDatabase({
    uri: config.mongodbUri,
    name: DASHBOARD,
    logger,
    migrations: [],
    migrateAtStart,
  });
  const { sessions, oauth, signOutUrl, collections } = createSessionsModule(
    database.connection,
    config,
    logger,
  );
  const api = createApi({ serviceUrls, scheme: new URL(publicUrl).protocol.slice(0, -1) });
  const sections = dashboardSections(config);
  const kinds = sections
    .flatMap(([, inside]) => inside)
    .flatMap(({ name, importKind }) => (importKind === undefined ? [] : [[name, importKind] as const]));
  const { imports, worker, expiring } = createImportsModule(database.connection, {
    ...{ masterKeys, sessions, logger, connect: api, kinds: new Map(kinds) },
    isLimited: config.rateLimit === 'on',
  });
  const common = {
    ...config,
    api,
    imports,
    sessions,
    signOutUrl,
    cookies: createCookies(publicUrl),
    forms: createForms(masterKeys, publicUrl),
    repeatedForms: createRepeatedForms({ store: createIdempotencyStore(database.connection), logger }),
  };
  const describe = createApiDescription(config);
  const library = createLibrary(publicUrl);
  const searchDocs = createDocsSearch({ describe, library });
  const searchPages = search({ sections: sections.flatMap(([, inside]) => inside), searchDocs });
  const app = createDashboardApp({
    routers: [
      signInRoutes({ ...common, rateLimit: config.rateLimit === 'on' }),
      assetRoutes(),
      landingRoutes({ publicUrl, signUp: config.signUp === 'on' }),
      docsRoutes({ describe, library, search: searchDocs }),
      mcpRoutes({ describe, api, publicUrl, oauth }),
      createDashboardRouter({
        ...common,
        sections,
        unlisted: [searchPages, tryRequest({ describe, publicUrl }), preferences(config)],
      }),
    ],
    unavailable: database.unavailable,
    logger,
  });
  return {
    name: DASHBOARD,
    prefixes: prefixesOf(DASHBOARD),
    handle: app.callback(),
    ...createLifecycle([
      database,
      createSweeper(database.connection, [...collections, ...expiring, IDEMPOTENCY_KEYS], { logger }),
      worker,
    ]),
    migrate: database.migrate,
    unready: database.unready,
    metrics: database.metrics,
  };
}

export const program = {
  name: 'dashboard',
  settings,
  readConfig: readDashboardConfig,
  create: createDashboardService,
} as const;

if (import.meta.main) await runProcess(program);
