import type { RequestInfo } from './requests.ts';

/** The data of a request that has ended, for metrics, usage and the request log. */
export type CompletedRequest = {
  /** The route's pattern with its method, such as `GET /v1/users/:id`; `unknown` where no route matched. */
  route: string;
  /** The authenticated client, or the one that the request named to identity. */
  client: string | undefined;
  /** 499 if the caller did not wait for the end. */
  status: number;
  /** In milliseconds. */
  ms: number;
  /** Without the query. The value of a parameter may be a secret. */
  path?: string;
  info?: Pick<RequestInfo, 'id' | 'credential' | 'failure'> &
    Partial<Pick<RequestInfo, 'keyId' | 'namedOnly' | 'actors' | 'workload'>>;
};

/** Callers choose the method, so unknown methods are counted together, to limit the number of series. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
export const UNKNOWN_ROUTE = 'unknown';

/** The description of a request that has ended, for all who count. */
export function completedRequest(
  method: string | undefined,
  info: Pick<RequestInfo, 'route' | 'client'> & NonNullable<CompletedRequest['info']>,
  { status, ms, path }: { status: number; ms: number; path: string },
): CompletedRequest {
  const { route, client } = info;
  const known = route !== undefined && METHODS.has(method ?? '');
  return { route: known ? `${method} ${route}` : UNKNOWN_ROUTE, client, status, ms, path, info };
}
