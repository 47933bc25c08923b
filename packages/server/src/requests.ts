import type { IncomingMessage } from 'node:http';
import { newId } from '@gatehouse/core/ids';
import { type AppliedFile, appliedFileOf } from './configuration-header.ts';

/**
 * Information about a request beyond the request itself. run() creates it, the services add to it, and the
 * request's log line is written from it.
 */
export type RequestInfo = {
  /** X-Request-Id as the caller sent it, else a new one. */
  readonly id: string;
  /** The caller's address: the peer's, or what a trusted proxy says. */
  readonly address: string;
  /** The User-Agent header, truncated. */
  readonly userAgent: string | undefined;
  /** The configuration file that the request applies. */
  readonly applied?: AppliedFile | undefined;
  /** The route's pattern, such as /v1/users/:id; never the URL, whose query may hold secrets. */
  route: string | undefined;
  /** client_id of the authenticated caller, or the one that the request named. */
  client: string | undefined;
  /** Whether the request only names the client: no valid credential of it was presented. Undefined until that is known. */
  namedOnly: boolean | undefined;
  /** Subject of the caller's token, when it is not the client itself. */
  subject: string | undefined;
  /** The applications that act for the subject, or the admin, the latest first; undefined where the subject acts. */
  actors?: readonly string[] | undefined;
  /** The job or pod that has authenticated as the client, by the token of its platform. */
  workload?: string;
  /** The last four characters of the verified credential. */
  credential: string | undefined;
  /** The id of the API key of the verified credential, also of a token that was issued for one. */
  keyId: string | undefined;
  /** Whether it uses something deprecated. */
  deprecated?: true;
  /** Why it was refused, for the request log. */
  failure: RequestFailure | undefined;
  /** When the response became a stream of events, by performance.now(): how long the stream lasts is no latency, and its end no error. */
  streamingSince?: number;
};

/** An error as the caller got it: the code, the message, and the missing scopes, any of which is enough, separated by spaces. */
export type RequestFailure = { code: string; message: string; scope?: string | undefined };

/** The caller of a request and its origin, as the other services tell identity for the audit log. */
export type RequestedBy = {
  /** The person; null for a machine. */
  user_id: string | null;
  client_id: string;
  /** The applications that act for the person, the latest first; absent where the person acts. */
  actors?: readonly string[];
  address: string;
  user_agent: string | null;
  request_id: string;
  /** The configuration file that the request applies. */
  applied?: AppliedFile;
};

const MAX_USER_AGENT = 200;

/** A property, because an entry in a WeakMap for each request would cost the garbage collector noticeable time. */
const INFO = Symbol('request info');
type WithInfo = IncomingMessage & { [INFO]?: RequestInfo };

/** The info of this request; made on first use. */
export function requestInfo(
  request: WithInfo,
  address: string = request.socket.remoteAddress ?? '',
): RequestInfo {
  request[INFO] ??= {
    id: idOf(request),
    address,
    userAgent: request.headers['user-agent']?.slice(0, MAX_USER_AGENT) || undefined,
    applied: appliedFileOf(request),
    route: undefined,
    client: undefined,
    namedOnly: undefined,
    subject: undefined,
    credential: undefined,
    keyId: undefined,
    failure: undefined,
  };
  return request[INFO];
}

/** The key that a request counts for: the application and its user, or the address if there is no credential. */
export function callerKey(request: IncomingMessage): string {
  const { client, subject, address } = requestInfo(request);
  return client === undefined ? address : `${client} ${subject ?? ''}`;
}

/** Makes one message stand for another (a rewritten request), so that both write to the same info. */
export function shareRequestInfo(from: IncomingMessage, to: WithInfo): void {
  to[INFO] = requestInfo(from);
}

function idOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : newId('req');
}
