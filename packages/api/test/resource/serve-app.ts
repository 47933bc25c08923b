import { upperCaseCodeBody, v2Body } from '@gatehouse/api/http/error-bodies';
import { type AppOptions, createApp, handlerOf } from '@gatehouse/api/resource/app';
import { unavailable } from '@gatehouse/core/errors';
import type { RunOptions } from '@gatehouse/server/run';
import { runServices, service } from '@gatehouse/testing/run-services';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import type { FastifyInstance } from 'fastify';

type TestScope = { teardown(fn: () => unknown): void };

/** Serves an app on a port of its own until the test ends. */
export async function serveApp(t: TestScope, app: FastifyInstance, options: Partial<RunOptions>) {
  const parts = { prefixes: [''], handle: handlerOf(app), stop: () => app.close() };
  return runServices(t, [service('test', parts)], options);
}

export class DatabaseAway extends Error {}

/** Serves an app with these routes; paths below /v1 have the errors of profile A. */
export async function serveRoutes(
  t: TestScope,
  addRoutes: (app: FastifyInstance) => void,
  options: Partial<AppOptions> = {},
) {
  const { logger, lines } = recordingLogger();
  const app = createApp({
    logger,
    errorBodyFor: (path) => (path.startsWith('/v1/') ? upperCaseCodeBody : v2Body),
    translate: (error) => (error instanceof DatabaseAway ? unavailable('Away.', error) : undefined),
    ...options,
  });
  addRoutes(app);
  return { ...(await serveApp(t, app, { logger })), lines };
}

export function things(app: FastifyInstance): void {
  for (const version of ['/v1', '/v2']) {
    app.get(`${version}/things`, async () => ({ data: [] }));
    app.post(`${version}/things`, async (request) => ({ body: request.body ?? 'none' }));
    app.get(`${version}/things/search`, async () => ({ data: [] }));
    app.get<{ Params: { id: string } }>(`${version}/things/:id`, async (request) => ({
      id: request.params.id,
    }));
    app.put(`${version}/things/:id`, async () => ({}));
  }
}
