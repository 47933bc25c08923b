import { createEndpoints, type Endpoint } from '@gatehouse/api/endpoints/endpoints';
import { etagOf, ifMatch, notModified } from '@gatehouse/api/http/conditional';
import { v2Body } from '@gatehouse/api/http/error-bodies';
import { JsonText } from '@gatehouse/api/http/json-body';
import type { Operation } from '@gatehouse/api/openapi/operation';
import { untilFirstWrite } from '@gatehouse/core/dry-run';
import type { IfVersion } from '@gatehouse/domain/if-version';
import { isDryRun } from '@gatehouse/server/configuration-header';
import type { Caller } from '@gatehouse/tokens/caller';
import { MANAGE_APPS } from '@gatehouse/tokens/scopes';
import Router from '@koa/router';
import type { Context } from 'koa';
import type { Operations } from '../openapi/operations.ts';
import { readJson } from './request-body.ts';

/** Endpoints for programs below one path, and what the OpenAPI document says of them. */
export type Api = {
  prefix: string;
  errors: Operation['errors'];
  router: Router;
  operations: Operations;
};

/** `ifVersion`: the versions on which a conditional change depends (see core/optimistic-writes.ts). */
type FromRequest = { ctx: Context; ifVersion: IfVersion };

/** Mounts endpoints on a Koa router. `identify` says who makes a request, before anything else of it is read. */
export function createApi<I extends object>({
  identify,
  ...options
}: Omit<Parameters<typeof createEndpoints>[0], 'mount'> & { identify(ctx: Context): Promise<I> }) {
  const { prefix, errors } = options;
  const router = new Router({ prefix, sensitive: true });
  const operations: Record<string, Operation> = {};
  router.use(async (ctx, next) => {
    ctx.set('cache-control', 'no-store');
    await next();
  });
  function mount(endpoint: Endpoint<I & FromRequest>): void {
    const { method, path, url, operation, admit, respond } = endpoint;
    operations[`${method} ${url}`] = operation;
    router.register(path, [method], async (ctx: Context) => {
      const ifVersion = operation.conditional === 'write' ? ifMatch(ctx.req) : undefined;
      const who = { ...(await identify(ctx)), ctx, ifVersion };
      const { params, query } = ctx;
      admit(who, params);
      const run = () => respond(who, { params, query, readBody: () => readJson(ctx) });
      const response = isDryRun(ctx.req) && method !== 'GET' ? await untilFirstWrite(run) : await run();
      if (response === undefined) {
        ctx.status = 204;
        return;
      }
      const { status, headers, body } = response;
      if (operation.conditional !== undefined && body !== undefined) {
        const etag = etagOf(versionOf(body));
        ctx.set('etag', etag);
        if (method === 'GET' && notModified(ctx.req, etag)) {
          ctx.status = 304;
          return;
        }
      }
      ctx.set(headers);
      if (ctx.status === 404) ctx.status = status;
      if (body === undefined) return;
      if (body instanceof JsonText) ctx.type = 'application/json';
      ctx.body = body instanceof JsonText ? body.text : body;
    });
  }
  return { prefix, errors, router, operations, ...createEndpoints({ ...options, mount }) };
}

/** The time of the last change, in milliseconds, as the version of what a response shows. */
const versionOf = (body: unknown): number =>
  new Date((body as { updated_at: Date | null }).updated_at ?? 0).getTime();

/** An API of what people manage with a token of a login or of our own dashboard. */
export function createManagedApi<I extends { caller: Caller }>(
  prefix: string,
  identify: (ctx: Context) => Promise<I>,
) {
  return createApi({
    prefix,
    errors: { body: v2Body },
    scopes: [MANAGE_APPS],
    identify,
  });
}
