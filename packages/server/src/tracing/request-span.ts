import type { IncomingMessage } from 'node:http';
import { continueTrace, type Span } from '@gatehouse/core/tracing';
import { type CompletedRequest, UNKNOWN_ROUTE } from '../completed-request.ts';

/** The span of a request, which continues the trace of its caller. Undefined when nothing is recorded. */
export function startRequestSpan(service: string, { method, headers }: IncomingMessage): Span | undefined {
  const { traceparent } = headers;
  return continueTrace(typeof traceparent === 'string' ? traceparent : undefined, `${method}`, {
    kind: 'server',
    attributes: { 'http.request.method': method, 'gatehouse.service': service },
  });
}

/** By the pattern of the route and not by the path, in which ids stand. */
export function endRequestSpan(span: Span | undefined, { route, status }: CompletedRequest): void {
  const name = route === UNKNOWN_ROUTE ? undefined : route;
  const attributes = { 'http.route': name?.split(' ')[1], 'http.response.status_code': status };
  span?.end({ name, attributes, error: status < 500 ? undefined : `${status}` });
}
