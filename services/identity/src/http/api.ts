import { v2Body } from '@gatehouse/api/http/error-bodies';
import { bodyValidator, invalidFields, queryValidator } from '@gatehouse/api/http/schema';
import type { Limited, ListEndpoint } from '@gatehouse/api/lists/list-endpoint';
import type { Operation, Shape } from '@gatehouse/api/openapi/operation';
import type { ErrorKind } from '@gatehouse/core/errors';
import type { ListSource } from '@gatehouse/domain/list-query';
import type { Caller } from '@gatehouse/tokens/caller';
import { MANAGE_APPS } from '@gatehouse/tokens/scopes';
import Router from '@koa/router';
import type { Context } from 'koa';
import type { Static, TObject } from 'typebox';
import { type Operations, ok, type TypedShape } from '../openapi/operations.ts';
import { readJson } from './request-body.ts';

/** Endpoints for programs below one path, and what the OpenAPI document says of them. */
export type Api = {
  prefix: string;
  errors: Operation['errors'];
  router: Router;
  operations: Operations;
};

/** The parameters of a route's path, such as `id` of `/:id/rotate`. */
type Params<Path extends string> = Path extends `${string}/:${infer Name}/${infer Rest}`
  ? { [name in Name]: string } & Params<`/${Rest}`>
  : Path extends `${string}/:${infer Name}`
    ? { [name in Name]: string }
    : unknown;

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
/** The description of an endpoint for the document, beside what follows from its API, its path and its method. */
type About = Pick<Operation, 'summary' | 'description' | 'scopes' | 'responses'> & {
  /** The kinds of errors in addition to those that follow from the operation; `not_found` from parameters in its path. */
  kinds?: readonly ErrorKind[];
};
/** A request to an endpoint: who makes it, and what came with it. */
type EndpointRequest<I, P, B extends TObject, Q extends TObject> = I & {
  ctx: Context;
  params: P;
  query: Static<Q>;
  body: Static<B>;
};
type Endpoint<I, P, B extends TObject, Q extends TObject> = About & {
  query?: Q;
  /** The schema of a query that the handler reads itself. */
  documentedQuery?: TObject;
  body?: TypedShape<B>;
  /** Takes no body for an empty object. */
  isBodyOptional?: boolean;
  /** Throws before anything of the request is read. */
  admit?(): void;
  /** Returns the body of the response, whose status is the first that is documented, unless it sets another. */
  handle(request: EndpointRequest<I, P, B, Q>): unknown;
};

/**
 * Makes an API whose endpoints are each declared once: the router does what the document says. `identify` says who makes a
 * request, before anything else of it is read.
 */
export function createApi<I extends object>(options: {
  prefix: string;
  errors: Operation['errors'];
  /** The scopes of its endpoints, unless they have their own; undefined for those that take no credential. */
  scopes?: readonly string[];
  identify(ctx: Context): Promise<I>;
  /** Compiles a schema into a validator of bodies. */
  validator?: typeof strictBodyValidator;
}) {
  const { prefix, errors, scopes, identify, validator = bodyValidator } = options;
  const router = new Router({ prefix, sensitive: true });
  const operations: Record<string, Operation> = {};
  router.use(async (ctx, next) => {
    ctx.set('cache-control', 'no-store');
    await next();
  });

  function add(
    method: Method,
    [name, path]: readonly [name: string, path: string],
    { kinds = [], ...about }: About & Pick<Operation, 'query' | 'body'>,
    respond: (ctx: Context, who: I) => Promise<void>,
  ): void {
    operations[`${method} ${prefix}${path === '/' ? '' : path}`] = {
      ...(scopes === undefined ? {} : { scopes }),
      ...about,
      operationId: operationId(name, prefix + path),
      tag: prefix,
      errors: { ...errors, kinds: path.includes('/:') ? ['not_found', ...kinds] : kinds },
    };
    router.register(path, [method], async (ctx: Context) => respond(ctx, await identify(ctx)));
  }

  const on =
    (method: Method) =>
    <P extends string, B extends TObject, Q extends TObject>(
      name: string,
      path: P,
      endpoint: Endpoint<I, Params<P>, B, Q>,
    ): void => {
      const { query, documentedQuery = query, body, isBodyOptional, admit, handle, ...about } = endpoint;
      const readBody = body && validator(body.schema);
      const readQuery = query && queryValidator(query);
      const [status] = Object.keys(about.responses).map(Number);
      const operation = {
        ...about,
        ...(documentedQuery && { query: [{ profile: 'interface', schema: documentedQuery }] }),
        ...(body && { body: [body] }),
      };
      add(method, [name, path], operation, async (ctx, who) => {
        admit?.();
        const sent = readBody && ((await readJson(ctx)) ?? (isBodyOptional ? {} : undefined));
        const request = {
          ...who,
          ctx,
          params: ctx.params,
          query: readQuery?.(ctx.query),
          body: readBody?.(sent),
        };
        const responseBody = await handle(request as EndpointRequest<I, Params<P>, B, Q>);
        if (ctx.status === 404) ctx.status = status ?? 200;
        if (responseBody !== undefined) ctx.body = responseBody;
      });
    };

  return {
    prefix,
    errors,
    router,
    operations,
    get: on('GET'),
    post: on('POST'),
    put: on('PUT'),
    patch: on('PATCH'),
    delete: on('DELETE'),
    /** A list by cursor, whose query its endpoint reads. `page` is what the document says of a page and its rows. */
    list<F extends string, T>(
      name: string,
      path: string,
      {
        page,
        endpoint,
        read,
        ...about
      }: Omit<About, 'responses'> & {
        page: { name: string; description: string; row: Shape };
        endpoint: ListEndpoint<F, T>;
        /** `path` is that of the links, where it is not the one of the rules. */
        read(
          who: I,
          params: Readonly<Record<string, string>>,
        ): Promise<ListOptions<F, T>> | ListOptions<F, T>;
      },
    ): void {
      const [schema] = endpoint.responses;
      if (schema === undefined) throw new Error(`the list at ${prefix} has no response`);
      const operation = {
        ...about,
        query: [{ profile: 'cursor', schema: endpoint.query }],
        responses: ok(page.description, { name: page.name, schema, parts: [page.row] }),
      };
      add('GET', [name, path], operation, async (ctx, who) => {
        const { source, ...reading } = await read(who, ctx.params as Record<string, string>);
        const { headers, text } = await endpoint.reply(ctx.query, source, reading);
        ctx.set(headers);
        ctx.type = 'application/json';
        ctx.body = text;
      });
    },
  };
}

type ListOptions<F extends string, T> = { source: ListSource<F, T>; limited: Limited; path?: string };

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
    validator: strictBodyValidator,
  });
}

/** The name of an operation with the path that it is at, without parameters: no other operation has it. */
function operationId(name: string, path: string): string {
  const parts = path.split('/').filter((part) => part !== '' && !part.startsWith(':'));
  const words = parts.map((part) => part.replaceAll('-', '_'));
  if (name.endsWith(words.at(-1) ?? '')) words.pop();
  return [name, ...words].join('_');
}

/** Like bodyValidator, but refuses unknown fields: a misspelt one must not be ignored here. */
function strictBodyValidator<S extends TObject>(schema: S): (body: unknown) => Static<S> {
  const validate = bodyValidator(schema);
  return (body: unknown) => {
    const unknown = Object.keys(Object(body)).filter((name) => !Object.hasOwn(schema.properties, name));
    if (unknown.length > 0 && !Array.isArray(body)) {
      throw invalidFields(
        unknown
          .slice(0, 20)
          .map((field) => ({ field: field.slice(0, 100), message: 'is not a known field' })),
      );
    }
    return validate(body);
  };
}
