import { createEndpoints, type Endpoint } from '@gatehouse/api/endpoints/endpoints';
import { v2Body } from '@gatehouse/api/http/error-bodies';
import { JsonText } from '@gatehouse/api/http/json-body';
import type { Operation } from '@gatehouse/api/openapi/operation';
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
  function mount({ method, path, url, operation, admit, respond }: Endpoint<I & { ctx: Context }>): void {
    operations[`${method} ${url}`] = operation;
    router.register(path, [method], async (ctx: Context) => {
      const who = { ...(await identify(ctx)), ctx };
      const { params, query } = ctx;
      admit(who, params);
      const { status, headers, body } = await respond(who, { params, query, readBody: () => readJson(ctx) });
      ctx.set(headers);
      if (ctx.status === 404) ctx.status = status;
      if (body === undefined) return;
      if (body instanceof JsonText) ctx.type = 'application/json';
      ctx.body = body instanceof JsonText ? body.text : body;
    });
  }
  return { prefix, errors, router, operations, ...createEndpoints({ ...options, mount }) };
}

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
