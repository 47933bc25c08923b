import type { IncomingMessage } from 'node:http';
import { requestInfo } from '@gatehouse/server/requests';

/** The browser's request that causes requests to other services, as these log it. */
export type Cause = { requestId: string; address: string; userAgent: string };

export function causeOf(request: IncomingMessage): Cause {
  const { id: requestId, address } = requestInfo(request);
  return { requestId, address, userAgent: request.headers['user-agent'] ?? '' };
}

/**
 * The headers that tell it; `scheme` is that by which browsers reach the deployment. Services that trust this process as a
 * proxy count the request for the browser's address, and record it with the browser.
 */
export function causeHeaders({ requestId, address, userAgent }: Cause, scheme: string) {
  return {
    'x-request-id': requestId,
    'x-forwarded-for': address,
    'x-forwarded-proto': scheme,
    'user-agent': userAgent,
  };
}
