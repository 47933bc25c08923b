import type { ErrorKind } from '@gatehouse/core/errors';
import type { ListSource } from '@gatehouse/domain/list-query';
import type { Static, TObject } from 'typebox';
import { JsonText } from '../http/json-body.ts';
import { bodyValidator, closed, queryValidator } from '../http/schema.ts';
import type { Limited, ListEndpoint } from '../lists/list-endpoint.ts';
import type { Operation, Shape } from '../openapi/operation.ts';
import { ok, type TypedShape } from '../openapi/shapes.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The parts of a request that follow its headers. `readBody` parses JSON; an empty body is undefined. */
type Sent = { params: unknown; query: unknown; readBody(): Promise<unknown> };

/** `body` is sent as JSON, a JsonText as it is; undefined is no body. */
export type EndpointResponse = { status: number; headers: Record<string, string>; body: unknown };

/** A declared endpoint, which any server can mount. */
export type Endpoint<I> = {
  method: Method;
  /** Below the prefix; `/` is the prefix itself. */
  path: string;
  /** The whole pattern, such as `/api/v1/sessions/:id`. */
  url: string;
  operation: Operation;
  /** To be called before the body is read. Throws for a caller who may not use the endpoint. */
  admit(who: I, params: unknown): void;
  respond(who: I, sent: Sent): Promise<EndpointResponse>;
};

/** The parameters of a route's path, such as `id` of `/:id/rotate`. */
type Params<Path extends string> = Path extends `${string}/:${infer Name}/${infer Rest}`
  ? { [name in Name]: string } & Params<`/${Rest}`>
  : Path extends `${string}/:${infer Name}`
    ? { [name in Name]: string }
    : unknown;

/** The description of an endpoint for the document, beside what follows from its prefix, its path and its method. */
type About = Pick<
  Operation,
  'summary' | 'description' | 'scopes' | 'conditional' | 'idempotent' | 'responses'
> & {
  /** In place of the one that follows from its name and path. */
  operationId?: string;
  /** The kinds of errors in addition to those that follow from the operation; `not_found` from parameters in its path. */
  kinds?: readonly ErrorKind[];
};
type Declaration<I, P, B extends TObject, Q extends TObject> = About & {
  query?: Q;
  /** The schema of a query that the handler reads itself. */
  documentedQuery?: TObject;
  body?: TypedShape<B>;
  /** The shape of a body that the handler reads itself. */
  documentedBody?: Shape;
  /** Takes no body for an empty object. */
  isBodyOptional?: boolean;
  /** Throws before the body is read. */
  admit?(request: I & { params: P }): void;
  /** Returns the body of the response, whose status is the first that is documented. */
  handle(request: I & { params: P; query: Static<Q>; body: Static<B> }): unknown;
};

type ListOptions<F extends string, T> = { source: ListSource<F, T>; limited: Limited; path?: string };

/**
 * Declares endpoints below a prefix, each once: a server does what the document says. Requests have in them the caller and whatever
 * else the server's adapter gives them.
 */
export function createEndpoints<I extends object>(options: {
  prefix: string;
  errors: Operation['errors'];
  /** The scopes of its endpoints, unless they have their own; undefined for those that take no credential. */
  scopes?: readonly string[];
  /** Compiles a schema into a validator of bodies that may have unknown members, as some specifications demand. */
  validator?: <S extends TObject>(schema: S) => (body: unknown) => Static<S>;
  /** Called for each endpoint. */
  mount(endpoint: Endpoint<I>): void;
}) {
  const { prefix, errors, scopes, validator, mount } = options;

  function add(
    name: string,
    { kinds = [], ...about }: About & Pick<Operation, 'query' | 'body'>,
    endpoint: Pick<Endpoint<I>, 'method' | 'path' | 'respond'> & Partial<Pick<Endpoint<I>, 'admit'>>,
  ): void {
    const { path } = endpoint;
    const url = path === '/' ? prefix : prefix + path;
    const operation = {
      ...(scopes === undefined ? {} : { scopes }),
      operationId: operationId(name, url),
      ...about,
      tag: prefix,
      errors: { ...errors, kinds: path.includes('/:') ? (['not_found', ...kinds] as const) : kinds },
    };
    mount({ admit: () => {}, ...endpoint, url, operation });
  }

  const on =
    (method: Method) =>
    <P extends string, B extends TObject, Q extends TObject>(
      name: string,
      path: P,
      declaration: Declaration<I, Params<P>, B, Q>,
    ): void => {
      const { query, documentedQuery = query, body: open, ...rest } = declaration;
      const body = open && (validator === undefined ? { ...open, schema: closed(open.schema) } : open);
      const { documentedBody = body, ...others } = rest;
      const { isBodyOptional, admit, handle, ...about } = others;
      const readBody = body && (validator ?? bodyValidator)(body.schema);
      const readQuery = query && queryValidator(query);
      const status = Number(Object.keys(about.responses)[0] ?? 200);
      const operation = {
        ...about,
        ...(documentedQuery && { query: [{ profile: 'interface', schema: documentedQuery }] }),
        ...(documentedBody && { body: [documentedBody] }),
      };
      add(name, operation, {
        method,
        path,
        admit: (who, params) => admit?.({ ...who, params: params as Params<P> }),
        async respond(who, { params, query, ...sent }) {
          const found = readBody && ((await sent.readBody()) ?? (isBodyOptional ? {} : undefined));
          const request = { ...who, params, query: readQuery?.(query), body: readBody?.(found) };
          const reply = await handle(request as Parameters<typeof handle>[0]);
          return { status, headers: {}, body: reply };
        },
      });
    };

  return {
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
      add(name, operation, {
        method: 'GET',
        path,
        async respond(who, { params, query }) {
          const { source, ...reading } = await read(who, params as Record<string, string>);
          const { headers, text } = await endpoint.reply(query, source, reading);
          return { status: 200, headers, body: new JsonText(text) };
        },
      });
    },
  };
}

/** The name of an operation with the path that it is at, without parameters: no other operation has it. */
function operationId(name: string, url: string): string {
  const parts = url.split('/').filter((part) => part !== '' && !part.startsWith(':'));
  const words = parts.map((part) => part.replaceAll('-', '_'));
  if (name.endsWith(words.at(-1) ?? '')) words.pop();
  return [name, ...words].join('_');
}
