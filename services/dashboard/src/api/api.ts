import { isUnder, SERVICES, type ServiceName } from '@gatehouse/kit/services';
import { ApiError, apiErrorOf } from './api-error.ts';

/** Where the public API of each other service is reached. */
export type ServiceUrls = Readonly<Record<Exclude<ServiceName, 'dashboard'>, string>>;

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** What a request to the API needs to be told of the request that caused it. */
export type Cause = { requestId: string; address: string };

/** The public API, as one person. All throw ApiError for answers other than a success. */
export type Api = {
  get<T>(path: string, query?: Query): Promise<T>;
  send<T>(method: Exclude<Method, 'GET'>, path: string, body?: unknown): Promise<T>;
  /** An answer as it is, such as a download. */
  fetch(path: string): Promise<Response>;
};

export type Query = Readonly<Record<string, string | number | undefined>>;

/** Gives the token for a request; `refused` is the one that was refused, so that another is needed. */
export type TokenSource = (refused?: string) => Promise<string>;

const TIMEOUT_MS = 10_000;

/**
 * Calls the public paths of the services over HTTP. A request that is refused for its token is made once more with a new
 * one: it had no effect.
 */
export function createApi(options: {
  serviceUrls: ServiceUrls;
  /** The scheme by which browsers reach the deployment. */
  scheme: string;
}): (tokens: TokenSource, cause: Cause) => Api {
  const { serviceUrls, scheme } = options;

  return (tokens, { requestId, address }) => {
    async function request(method: Method, path: string, body?: unknown): Promise<Response> {
      const url = urlOf(serviceUrls, path);
      const ask = (token: string) =>
        fetch(url, {
          method,
          headers: {
            authorization: `Bearer ${token}`,
            accept: 'application/json',
            'x-request-id': requestId,
            // Believed by services that trust this process as a proxy, so that the audit log tells from where.
            'x-forwarded-for': address,
            'x-forwarded-proto': scheme,
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          redirect: 'manual',
          signal: AbortSignal.timeout(TIMEOUT_MS),
        }).catch((error: unknown) => {
          throw new ApiError(0, 'This part of Gatehouse cannot be reached just now.', { cause: error });
        });
      const token = await tokens();
      const response = await ask(token);
      if (response.status !== 401) return response;
      await response.body?.cancel();
      return ask(await tokens(token));
    }

    async function answer<T>(response: Response): Promise<T> {
      const text = await response.text();
      if (!response.ok) throw apiErrorOf(response, text);
      return (text === '' ? undefined : JSON.parse(text)) as T;
    }

    return {
      get: async (path, query) => answer(await request('GET', path + queryText(query))),
      send: async (method, path, body) => answer(await request(method, path, body)),
      async fetch(path) {
        const response = await request('GET', path);
        if (!response.ok) throw apiErrorOf(response, await response.text());
        return response;
      },
    };
  };
}

/** The parameters that have a value, as the query of a URL. */
export function queryText(query: Query = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value));
  const text = given.toString();
  return text === '' ? '' : `?${text}`;
}

/** The URL of a public path. Throws ApiError where no service has it. */
function urlOf(urls: ServiceUrls, path: string): URL {
  const [plain = ''] = path.split('?', 1);
  for (const [name, origin] of Object.entries(urls)) {
    const { prefixes } = SERVICES[name as keyof ServiceUrls];
    if (prefixes.some((prefix) => isUnder(plain, prefix))) return new URL(path, origin);
  }
  throw new ApiError(404, 'This deployment does not have this part of the interface.');
}
