import { unavailable } from '@gatehouse/kit/errors';
import { INTERNAL_SCOPE, internalAudience } from './scopes.ts';

export type InternalClient = {
  /**
   * A request to another service, with this service's own access token. Throws `unavailable` when the service or
   * identity cannot be reached in time; every answer is returned as it is. A body must be one that can be sent
   * twice, so no stream: on a 401 the token is renewed once.
   */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
};

type Token = { value: string /** In milliseconds of performance.now(). */; renewAt: number };

/** How long before its end a token is replaced, in seconds; of short-lived ones, after nine tenths of their life. */
const RENEWED_BEFORE = 60;

/** A client of the other services' /internal routes. */
export function createInternalClient(options: {
  /** Identity's token endpoint, as seen from here. */
  tokenUrl: string;
  issuer: string;
  clientId: string;
  clientSecret: string;
  scope?: string;
  /** For each request, token or other. */
  timeoutSeconds?: number;
}): InternalClient {
  const { tokenUrl, issuer, clientId, clientSecret, scope = INTERNAL_SCOPE, timeoutSeconds = 5 } = options;
  let token: Token | undefined;
  let pending: Promise<Token> | undefined;

  /** Never to where a redirect points: it would take the credential along. */
  async function send(url: string | URL, init: RequestInit): Promise<Response> {
    const timeout = AbortSignal.timeout(timeoutSeconds * 1000);
    const signal = init.signal ? AbortSignal.any([init.signal, timeout]) : timeout;
    try {
      return await fetch(url, { ...init, redirect: 'error', signal });
    } catch (error) {
      throw unavailable('Another part of Gatehouse cannot be reached just now.', error);
    }
  }

  /** A token by the client credentials grant (RFC 6749 §4.4), for the internal resource (RFC 8707). */
  async function requestToken(): Promise<Token> {
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      resource: internalAudience(issuer),
      scope,
    });
    const response = await send(tokenUrl, {
      method: 'POST',
      headers: { authorization: basicCredential(clientId, clientSecret), accept: 'application/json' },
      body,
    });
    const answer = await response.json().catch(() => undefined);
    const { access_token: value, expires_in: lifetime, error } = Object(answer) as Record<string, unknown>;
    if (!response.ok || typeof value !== 'string' || typeof lifetime !== 'number') {
      const cause = new Error(`the token endpoint answered ${response.status} ${String(error ?? '')}`.trim());
      throw unavailable('Identity gives no token just now.', cause);
    }
    const usable = Math.max(lifetime - RENEWED_BEFORE, lifetime * 0.9);
    return { value, renewAt: performance.now() + usable * 1000 };
  }

  /** The token at hand, or one request for all who wait for a new one. */
  async function currentToken(): Promise<Token> {
    if (token !== undefined && performance.now() < token.renewAt) return token;
    pending ??= requestToken().finally(() => {
      pending = undefined;
    });
    token = await pending;
    return token;
  }

  async function sendWith({ value }: Token, url: string | URL, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${value}`);
    return send(url, { ...init, headers });
  }

  return {
    async fetch(url, init = {}) {
      const used = await currentToken();
      const response = await sendWith(used, url, init);
      if (response.status !== 401) return response;
      await response.body?.cancel();
      // Another request may have renewed it meanwhile.
      if (token === used) token = undefined;
      return sendWith(await currentToken(), url, init);
    },
  };
}

/** RFC 6749 §2.3.1: both parts are form-encoded before they are joined. */
function basicCredential(clientId: string, clientSecret: string): string {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`;
}
