import { setTimeout } from 'node:timers/promises';
import { JsonText } from '@gatehouse/api/http/json-body';
import { isUnder, SERVICES, type ServiceName } from '@gatehouse/core/services';
import { type Bounds, createOutbound } from '@gatehouse/outbound/outbound';
import { ApiError, apiErrorOf } from './api-error.ts';
import { type Cause, causeHeaders } from './cause.ts';

/** Where the public API of each other service is reached. */
export type ServiceUrls = Readonly<Record<Exclude<ServiceName, 'dashboard'>, string>>;

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * The API as the person whose tokens these are. `idempotencyKey` is sent with each POST: what it creates is created once,
 * however often the request that caused it is made.
 */
export type Connect = (tokens: TokenSource, cause: Cause, idempotencyKey?: string) => Api;

/** The public API, as one person. All throw ApiError for responses other than a success. */
export type Api = {
  get<T>(path: string, query?: Query): Promise<T>;
  /** A thing with its entity tag, for `send`; or a list, and whether the search for it did not look at everything. */
  read<T>(path: string): Promise<{ value: T; etag: string | null; isIncomplete: boolean }>;
  /** A JsonText is sent as it is. With `ifMatch`, only what still has this entity tag is changed. */
  send<T>(method: Exclude<Method, 'GET'>, path: string, body?: unknown, ifMatch?: string | null): Promise<T>;
  /**
   * The response to a request as it is, an error included. `authorization` takes the place of the person's token; null is none.
   * Throws ApiError where no service has the path, and when there is no response or one of over 1 MiB.
   */
  probe(request: ProbeRequest, authorization?: string | null): Promise<Probe>;
  /** A token of an application, by client credentials; undefined when they are not valid. Throws ApiError for another reason. */
  tokenOf(credentials: Credentials): Promise<string | undefined>;
  /** A response as it is, such as a download. */
  fetch(path: string): Promise<Response>;
};

/** A request that is sent as it is; the path may have a query. */
export type ProbeRequest = {
  method: string;
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
};

export type Probe = { status: number; headers: Headers; text: string };

export type Credentials = { clientId: string; clientSecret: string };

export type Query = Readonly<Record<string, string | number | undefined>>;

/** Gives the token for a request; `refused` is the one that was refused, so that another is needed. */
export type TokenSource = (refused?: string) => Promise<string>;

type AskOptions = Bounds & {
  ifMatch?: string | null | undefined;
  key?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
};

/** How often, and after which time, it is asked what became of a request that is still running. */
const MAX_ATTEMPTS = 10;
const RUNNING_MS = 500;
/** A download is passed on as it comes. */
const DOWNLOAD = { timeoutMs: 10 * 60_000, maxBytes: Number.POSITIVE_INFINITY };
/** The bounds of a probe, whose response people read. */
const PROBE = { maxBytes: 1024 * 1024 };
/** A page of what people can store is within this by far. */
const outbound = createOutbound({ to: 'services', maxBytes: 32 * 1024 * 1024 });

/**
 * Calls the public paths of the services over HTTP. A request that is refused for its token is made once more with a new
 * one: it had no effect.
 */
export function createApi(options: {
  serviceUrls: ServiceUrls;
  /** The scheme by which browsers reach the deployment. */
  scheme: string;
}): Connect {
  const { serviceUrls, scheme } = options;

  return (tokens, cause, idempotencyKey) => {
    const nextKey = creationKeys(idempotencyKey);

    async function ask(
      method: string,
      path: string,
      authorization?: string | null,
      body?: unknown,
      { timeoutMs, maxBytes, ifMatch, key, headers: more }: AskOptions = {},
    ): Promise<Response> {
      const url = urlOf(serviceUrls, path);
      const headers = {
        accept: 'application/json',
        ...causeHeaders(cause, scheme),
        ...(authorization == null ? {} : { authorization }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(ifMatch && { 'if-match': ifMatch }),
        ...(method === 'POST' && key && { 'idempotency-key': key }),
        ...more,
      };
      try {
        const content = body instanceof JsonText ? body.text : JSON.stringify(body);
        return await outbound.fetch(url, { method, headers, body: content, timeoutMs, maxBytes });
      } catch (error) {
        throw new ApiError(0, 'This part of Gatehouse cannot be reached.', { cause: error });
      }
    }

    async function request(
      method: string,
      path: string,
      body?: unknown,
      options?: AskOptions,
    ): Promise<Response> {
      const token = await tokens();
      const response = await ask(method, path, `Bearer ${token}`, body, options);
      if (response.status !== 401) return response;
      await response.body?.cancel();
      return ask(method, path, `Bearer ${await tokens(token)}`, body, options);
    }

    /** While the same request is running, as of a form that was sent twice, its response is waited for. */
    async function whenEnded(send: () => Promise<Response>): Promise<Response> {
      for (let attempt = 1; ; attempt += 1) {
        const response = await send();
        const isRunning =
          idempotencyKey !== undefined && response.status === 409 && response.headers.has('retry-after');
        if (!isRunning || attempt === MAX_ATTEMPTS) return response;
        await response.body?.cancel();
        await setTimeout(RUNNING_MS);
      }
    }

    function write(method: Method, path: string, body: unknown, { ifMatch }: AskOptions): Promise<Response> {
      const options = { ifMatch, key: method === 'POST' ? nextKey() : undefined };
      return whenEnded(() => request(method, path, body, options));
    }

    async function tokenOf({ clientId, clientSecret }: Credentials): Promise<string | undefined> {
      const grant = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
      try {
        const response = await ask('POST', '/oauth/token', undefined, grant);
        return (await parsedBody<{ access_token: string }>(response)).access_token;
      } catch (error) {
        if (error instanceof ApiError && error.code === 'invalid_client') return undefined;
        throw error;
      }
    }

    return {
      get: async (path, query) => parsedBody(await request('GET', path + queryText(query))),
      async read<T>(path: string) {
        const response = await request('GET', path);
        const { headers } = response;
        const isIncomplete = headers.has('incomplete-results');
        return { value: await parsedBody<T>(response), etag: headers.get('etag'), isIncomplete };
      },
      send: async (method, path, body, ifMatch) => parsedBody(await write(method, path, body, { ifMatch })),
      async probe({ method, path, headers, body }, authorization) {
        const content = body === undefined ? undefined : new JsonText(body);
        const options = { ...PROBE, headers };
        const response = await whenEnded(() =>
          authorization === undefined
            ? request(method, path, content, options)
            : ask(method, path, authorization, content, options),
        );
        try {
          return { status: response.status, headers: response.headers, text: await response.text() };
        } catch (cause) {
          throw new ApiError(502, 'The response is longer than 1 MiB, or was broken off.', { cause });
        }
      },
      tokenOf,
      async fetch(path) {
        const response = await request('GET', path, undefined, DOWNLOAD);
        if (!response.ok) throw apiErrorOf(response, await response.text());
        return response;
      },
    };
  };
}

/** Each object that a form creates has a key of its own, and the same one when the form is sent again. */
function creationKeys(idempotencyKey: string | undefined) {
  let creations = 0;
  return (): string | undefined => {
    creations += 1;
    return idempotencyKey && creations > 1 ? `${idempotencyKey}-${creations}` : idempotencyKey;
  };
}

async function parsedBody<T>(response: Response): Promise<T> {
  const text = await response.text();
  if (!response.ok) throw apiErrorOf(response, text);
  try {
    return (text === '' ? undefined : JSON.parse(text)) as T;
  } catch (cause) {
    throw new ApiError(502, 'The response of this part of Gatehouse cannot be read.', { cause });
  }
}

/** The parameters that have a value, as the query of a URL. */
export function queryText(query: Query = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value));
  const text = given.toString();
  return text === '' ? '' : `?${text}`;
}

/** The URL of a public path. Throws ApiError where no service has it. */
export function urlOf(urls: ServiceUrls, path: string): URL {
  const [plain = ''] = path.split('?', 1);
  for (const [name, origin] of Object.entries(urls)) {
    const { prefixes } = SERVICES[name as keyof ServiceUrls];
    if (!prefixes.some((prefix) => isUnder(plain, prefix))) continue;
    const url = new URL(path, origin);
    // An id such as `..` would lead to another path.
    if (url.pathname === plain) return url;
  }
  throw new ApiError(404, 'This deployment does not have this part of the interface.');
}
