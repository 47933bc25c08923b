import { unavailable } from '@gatehouse/core/errors';
import { internalPrefix, type ServiceName } from '@gatehouse/core/services';
import { createOutbound, type OutboundInit } from '@gatehouse/outbound/outbound';
import { readClientAssertion } from './client-assertion.ts';
import { INTERNAL_SCOPE, internalAudience } from './scopes.ts';

export type InternalClient = {
  /**
   * Calls an internal route of the service with this service's own access token. `path` is below the service's
   * internal prefix and may have a query; `body` is sent as JSON. The response's body is undefined when it is empty.
   * Throws `unavailable` when the service cannot be reached in time, answers 5xx or something other than JSON, or
   * refuses the token, also after it has been renewed once.
   */
  request(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }>;
};

export type AccessToken = { value: string /** In seconds. */; lifetime: number };

/** Gets a new access token for the internal routes of a service; throws `unavailable`. */
export type RequestToken = (service: ServiceName) => Promise<AccessToken>;

type KeptToken = { value: string /** In milliseconds of performance.now(). */; renewAt: number };

/** How long before its end a token is replaced, in seconds; a short-lived one after nine tenths of its life. */
const RENEWED_BEFORE = 60;
const TIMEOUT_SECONDS = 5;
/** The maximum size of responses of other services, which even pages of revocations are far below. */
const MAX_BYTES = 32 * 1024 * 1024;
const UNREACHABLE = 'Another service of Gatehouse cannot be reached.';

/** A client of the /internal routes of one other service, which keeps its token for as long as that holds. */
export function createInternalClient(options: {
  service: ServiceName;
  /** The origin at which the service is reached from here. */
  url: string;
  requestToken: RequestToken;
  /** For each request, 5 by default. */
  timeoutSeconds?: number;
}): InternalClient {
  const { service, requestToken, timeoutSeconds = TIMEOUT_SECONDS } = options;
  const base = options.url + internalPrefix(service);
  let token: KeptToken | undefined;
  let pending: Promise<KeptToken> | undefined;

  async function newToken(): Promise<KeptToken> {
    const { value, lifetime } = await requestToken(service);
    const usable = Math.max(lifetime - RENEWED_BEFORE, lifetime * 0.9);
    return { value, renewAt: performance.now() + usable * 1000 };
  }

  /** The token at hand, or one request for all who wait for a new one. */
  async function currentToken(): Promise<KeptToken> {
    if (token !== undefined && performance.now() < token.renewAt) return token;
    pending ??= newToken().finally(() => {
      pending = undefined;
    });
    token = await pending;
    return token;
  }

  return {
    async request(method, path, body) {
      const headers: Record<string, string> =
        body === undefined ? {} : { 'content-type': 'application/json' };
      const sendWith = ({ value }: KeptToken) =>
        send(base + path, timeoutSeconds, {
          method,
          headers: { ...headers, authorization: `Bearer ${value}` },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
      const used = await currentToken();
      let reply = await sendWith(used);
      if (reply.status === 401) {
        // Another request may have renewed it meanwhile.
        if (token === used) token = undefined;
        reply = await sendWith(await currentToken());
      }
      // The caller can do nothing about its service's own token being refused.
      if (reply.status >= 500 || reply.status === 401) {
        throw unavailable(UNREACHABLE, new Error(`${service} answered ${reply.status}`));
      }
      return reply;
    },
  };
}

/** Access tokens by the client credentials grant (RFC 6749 §4.4), each for one service's audience (RFC 8707). */
export function clientCredentialsGrant(options: {
  /** Identity's token endpoint, as seen from here. */
  tokenUrl: string;
  issuer: string;
  clientId: string;
  clientSecret?: string | undefined;
  /** The file of a token that takes the place of the secret. */
  clientAssertionFile?: string | undefined;
  /** For each request, 5 by default. */
  timeoutSeconds?: number;
}): RequestToken {
  const { tokenUrl, issuer, clientId, clientSecret = '', clientAssertionFile: file } = options;
  const { timeoutSeconds = TIMEOUT_SECONDS } = options;
  return async (service) => {
    const assertion = file === undefined ? {} : { client_id: clientId, ...(await readClientAssertion(file)) };
    const basic = file === undefined ? { authorization: basicCredential(clientId, clientSecret) } : {};
    const { status, body } = await send(tokenUrl, timeoutSeconds, {
      method: 'POST',
      headers: { ...basic, accept: 'application/json' },
      body: new URLSearchParams({
        ...assertion,
        grant_type: 'client_credentials',
        resource: internalAudience(issuer, service),
        scope: INTERNAL_SCOPE,
      }),
    });
    const { access_token: value, expires_in: lifetime, ...failure } = Object(body) as Record<string, unknown>;
    if (status !== 200 || typeof value !== 'string' || typeof lifetime !== 'number') {
      const reason = [failure.error, failure.error_description].filter((it) => it !== undefined);
      const cause = new Error(`the token endpoint answered ${status} ${reason.join(': ')}`.trim());
      throw unavailable('The identity service cannot issue a token at the moment.', cause);
    }
    return { value, lifetime };
  };
}

const outbound = createOutbound({ to: 'services', maxBytes: MAX_BYTES });

async function send(
  url: string,
  timeoutSeconds: number,
  init: OutboundInit,
): Promise<{ status: number; body: unknown }> {
  let status: number | undefined;
  try {
    const response = await outbound.read(url, { ...init, timeoutMs: timeoutSeconds * 1000 });
    status = response.status;
    const text = response.body.toString('utf8');
    if (status >= 300 && status < 400)
      throw new Error(`it answered ${status}, and redirects are not followed`);
    return { status, body: text === '' ? undefined : JSON.parse(text) };
  } catch (error) {
    // Without the text: the parser's error quotes it.
    const cause = error instanceof SyntaxError ? new Error(`it answered ${status} without JSON`) : error;
    throw unavailable(UNREACHABLE, cause);
  }
}

/** RFC 6749 §2.3.1: both parts are form-encoded before they are joined. */
function basicCredential(clientId: string, clientSecret: string): string {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`;
}
