import type { Readable } from 'node:stream';
import { currentTraceparent, during, startSpan } from '@gatehouse/core/tracing';
import { VERSION } from '@gatehouse/core/version';
import { Agent, type Dispatcher } from 'undici';
import { connectPublic } from './connect.ts';

export type Outbound = {
  /**
   * As the standard's fetch, but: redirects are returned and not followed, the body of the response is not decompressed,
   * and what it takes is bounded. A response of which the body is not read is closed when its time is over; cancel the body
   * to close it before. Rejects with AddressRefusedError, a DOMException called TimeoutError, the signal's reason, or an error
   * of the connection; reading the body rejects with BodyTooLargeError as well.
   */
  fetch(url: string | URL, init?: OutboundInit): Promise<Response>;
  /** Like `fetch`, but reads the whole body, and does not create the standard's objects, which takes time. */
  read(url: string | URL, init?: OutboundInit): Promise<{ status: number; body: Buffer }>;
};

export type OutboundInit = Bounds & {
  method?: string | undefined;
  headers?: RequestInit['headers'];
  /** Text, bytes or a form; anything else is sent as the text that it becomes. */
  body?: unknown;
  signal?: AbortSignal | null | undefined;
};

export type Bounds = {
  /** For the whole exchange, from looking up the name to the last byte of the response; 10,000 by default. */
  timeoutMs?: number | undefined;
  /** The maximum size of the body of a response; 1 MiB by default. */
  maxBytes?: number | undefined;
};

/** The body of a response is longer than the caller wants to read. */
export class BodyTooLargeError extends Error {
  override name = 'BodyTooLargeError';
}

const TIMEOUT_MS = 10_000;
const MAX_CONNECT_MS = 10_000;
const MAX_BYTES = 1024 * 1024;
/** RFC 9110 §15; a Response cannot be made of another status. */
const isStatus = (status: number) => status >= 200 && status <= 599;
const WITHOUT_BODY = new Set([204, 205, 304]);

/**
 * A client for requests to other servers, and the only way by which this product makes them.
 *
 * @param options.to `configured` for URLs that the operator has set: any address, and connections are kept; `public` for those
 * that users or third parties have chosen: addresses of the public internet and of `networks` (addresses and CIDR ranges), and
 * each request has a connection of its own; `services` for those of this deployment, which get the trace context of the
 * request
 */
export function createOutbound(
  options: Bounds & ({ to: 'configured' | 'services' } | { to: 'public'; networks?: readonly string[] }),
): Outbound {
  const { timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES } = options;
  const timeout = Math.min(timeoutMs, MAX_CONNECT_MS);
  const agent =
    options.to === 'public'
      ? new Agent({
          connect: connectPublic({ networks: options.networks ?? [], timeout }),
          pipelining: 0,
          // For one whose request was aborted before it was made.
          keepAliveTimeout: 1,
        })
      : new Agent({ connect: { timeout } });

  /** Sends a request. Returns the result of `receive`, which has to read or to destroy the body of the response. */
  async function exchange<T extends { status: number }>(
    url: string | URL,
    init: OutboundInit,
    receive: (response: Dispatcher.ResponseData, maxBytes: number) => T | Promise<T>,
  ): Promise<T> {
    const { origin, hostname, pathname, search, username, password } = new URL(url);
    // They would be left out.
    if (username !== '' || password !== '') throw new TypeError('the URL of a request has credentials');
    const { method = 'GET' } = init;

    async function send(): Promise<T> {
      const deadline = startDeadline(init.timeoutMs ?? timeoutMs, init.signal);
      try {
        const content = contentOf(init);
        const traceparent = options.to === 'services' ? currentTraceparent() : undefined;
        content.headers['user-agent'] ??= `Gatehouse/${VERSION}`;
        if (traceparent !== undefined) content.headers.traceparent = traceparent;
        const response = await Promise.race([
          agent.request({
            origin,
            path: pathname + search,
            method: method as Dispatcher.HttpMethod,
            ...content,
            signal: deadline.signal,
            // The timeouts of the agent are for each of its connections; the deadline is for the whole request.
            headersTimeout: 0,
            bodyTimeout: 0,
          }),
          deadline.passed,
        ]);
        // The reader gets its errors from the iterator.
        response.body.on('error', () => {}).once('close', deadline.end);
        if (isStatus(response.statusCode)) return await receive(response, init.maxBytes ?? maxBytes);
        response.body.destroy();
        throw new Error(`${origin} answered with the status ${response.statusCode}`);
      } catch (error) {
        deadline.end();
        throw error;
      }
    }

    // Without the path, in which a secret can stand.
    const attributes = { 'http.request.method': method, 'server.address': hostname };
    return during(startSpan(method, { kind: 'client', attributes }), send, ({ status }) => ({
      'http.response.status_code': status,
    }));
  }

  return {
    fetch: (url, init = {}) =>
      exchange(url, init, ({ statusCode: status, headers, body }, maxBytes) => {
        const received = { status, headers: toHeaders(headers) };
        if (!WITHOUT_BODY.has(status)) return new Response(bounded(body, maxBytes), received);
        body.resume();
        return new Response(null, received);
      }),
    read: (url, init = {}) =>
      exchange(url, init, async ({ statusCode: status, body }, maxBytes) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        for await (const chunk of body) {
          bytes += chunk.length;
          if (bytes > maxBytes) throw new BodyTooLargeError(`the response has more than ${maxBytes} bytes`);
          chunks.push(chunk);
        }
        return { status, body: Buffer.concat(chunks) };
      }),
  };
}

/** The time for an exchange: `signal` aborts it when it has passed, or with `outer`, and nothing is kept after `end`. */
function startDeadline(ms: number, outer?: AbortSignal | null) {
  const controller = new AbortController();
  const { promise: passed, reject } = Promise.withResolvers<never>();
  passed.catch(() => {});
  const abort = (reason: unknown) => {
    controller.abort(reason);
    // A request whose connection is not yet made does not notice its signal.
    reject(reason);
  };
  const follow = () => abort(outer?.reason);
  const timer = setTimeout(() => abort(new DOMException('The request took too long', 'TimeoutError')), ms);
  outer?.addEventListener('abort', follow);
  if (outer?.aborted) follow();
  const end = () => {
    clearTimeout(timer);
    outer?.removeEventListener('abort', follow);
  };
  return { signal: controller.signal, passed, end };
}

function contentOf({ headers: given, body }: OutboundInit) {
  const headers = new Headers(given);
  const isForm = body instanceof URLSearchParams;
  if (isForm && !headers.has('content-type')) {
    headers.set('content-type', 'application/x-www-form-urlencoded;charset=UTF-8');
  }
  const content = body == null || body instanceof Uint8Array ? body : String(body);
  return { headers: Object.fromEntries(headers), body: content ?? null };
}

function toHeaders(received: Record<string, string | string[] | undefined>): Headers {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(received)) {
    for (const value of [values].flat()) headers.append(name, value);
  }
  return headers;
}

/** The body as it is read; it is broken off after `maxBytes`. */
function bounded(body: Readable, maxBytes: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  const chunks = body[Symbol.asyncIterator]();
  let bytes = 0;
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) return controller.close();
        bytes += value.length;
        if (bytes <= maxBytes) return controller.enqueue(value);
        body.destroy();
        throw new BodyTooLargeError(`the response has more than ${maxBytes} bytes`);
      },
      cancel() {
        body.destroy();
      },
    },
    { highWaterMark: 0 },
  );
}
