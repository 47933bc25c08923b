import type { RequestInfo } from './requests.ts';

/** The data of a request that has ended, for metrics and usage. */
export type CompletedRequest = {
  /** The route's pattern with its method, such as `GET /v1/users/:id`; `unknown` where no route matched. */
  route: string;
  /** The authenticated client, or the one that the request named to identity. */
  client: string | undefined;
  /** 499 if the caller did not wait for the end. */
  status: number;
  /** In milliseconds. */
  ms: number;
};

/** Callers choose the method: others are counted together, so that their number stays small. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
export const UNKNOWN_ROUTE = 'unknown';

/** The description of a request that has ended, for all who count. */
export function completedRequest(
  method: string | undefined,
  { route, client }: Pick<RequestInfo, 'route' | 'client'>,
  { status, ms }: Pick<CompletedRequest, 'status' | 'ms'>,
): CompletedRequest {
  const known = route !== undefined && METHODS.has(method ?? '');
  return { route: known ? `${method} ${route}` : UNKNOWN_ROUTE, client, status, ms };
}
