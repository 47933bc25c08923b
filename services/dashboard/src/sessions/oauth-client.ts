import { ServiceError, unavailable } from '@gatehouse/core/errors';
import { createOutbound, type OutboundInit } from '@gatehouse/outbound/outbound';
import { readClientAssertion } from '@gatehouse/tokens/client-assertion';
import { API_SCOPES, isRole, MANAGE_APPS, parseScope, type Role } from '@gatehouse/tokens/scopes';
import * as oauth from 'openid-client';
import { type Cause, causeHeaders } from '../api/cause.ts';
import type { Person, Tokens } from './session.ts';

/** The state that is kept between the request for a sign-in and its response. */
export type PendingSignIn = { state: string; nonce: string; verifier: string; returnTo: string };

/** The grant of a session has ended: it was revoked, or the person may not sign in any more. */
export class SignInEnded extends Error {
  override name = 'SignInEnded';
}

/** The sign-in was refused by the person, or its response does not belong to this browser's request. */
export class SignInRefused extends Error {
  override name = 'SignInRefused';
}

/** A token for the API, in the place of one for the MCP server. */
export type ExchangedToken = { token: string; scopes: ReadonlySet<string> };

/** Requests are made for a browser, and count for its address. All but begin() throw `unavailable` if identity is away. */
export type OAuthClient = {
  /** A request for a sign-in: where to send the browser, and what to keep until it comes back. */
  begin(returnTo: string, again: boolean): Promise<{ url: string; pending: PendingSignIn }>;
  /** Exchanges the code in the response. Throws SignInRefused. */
  finish(response: URL, pending: PendingSignIn, cause: Cause): Promise<{ person: Person; tokens: Tokens }>;
  /** New tokens. Throws SignInEnded. */
  refresh(tokens: Tokens, cause: Cause): Promise<{ person: Person; tokens: Tokens }>;
  /**
   * Exchanges a token that was sent to the MCP server for one of the same person and application for the API (RFC 8693); undefined if
   * identity refuses it.
   */
  exchange(token: string, cause: Cause): Promise<ExchangedToken | undefined>;
  /** Ends what the tokens were issued under. */
  revoke(tokens: Tokens, cause: Cause): Promise<void>;
  /** Where a browser signs out of the issuer's session, too (OpenID Connect RP-Initiated Logout 1.0 §2). */
  signOutUrl: string;
};

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
/** The errors for a token that is not valid, or allows nothing any more. */
const REFUSALS = new Set(['invalid_grant', 'invalid_scope']);
const AWAY = 'Your sign-in cannot be checked. Try again in a moment.';
const outbound = createOutbound({ to: 'services' });
const SCOPE = ['openid', 'profile', 'email', ...API_SCOPES, MANAGE_APPS].join(' ');

type ClientOptions = {
  issuer: string;
  /** Where identity is reached from here. */
  identityUrl: string;
  clientId: string;
  clientSecret?: string | undefined;
  /** The file of a token that takes the place of the secret. */
  clientAssertionFile?: string | undefined;
};

/** The dashboard as a client of identity: authorization code with PKCE (RFC 9700 §2.1.1), and refresh tokens. */
export function createOAuthClient(options: ClientOptions): OAuthClient {
  const { issuer, identityUrl, clientId } = options;
  const redirectUri = `${issuer}/dashboard/signed-in`;
  const { configure, ask } = createIdentityClient(options);

  async function signedIn(
    response: oauth.TokenEndpointResponse & oauth.TokenEndpointResponseHelpers,
    refresh: string,
    cause: Cause,
  ): Promise<{ person: Person; tokens: Tokens }> {
    const tokens = {
      access: response.access_token,
      refresh,
      expiresAt: Date.now() + (response.expiresIn() ?? 60) * 1000,
    };
    return { person: await fetchPerson(tokens, cause), tokens };
  }

  /** The person and the role of the token; the role may differ from that of the token before it. */
  async function fetchPerson({ access }: Tokens, cause: Cause): Promise<Person> {
    const get = async (path: string) => {
      const headers = { authorization: `Bearer ${access}` };
      const response = await ask(identityUrl + path, { headers }, cause);
      if (response.status === 401) throw new SignInEnded('the new token is not valid');
      if (!response.ok) throw new Error(`${path} answered ${response.status}`);
      return (await response.json()) as Record<string, unknown>;
    };
    const [permissions, { name, email }] = await Promise.all([
      get('/api/v1/auth/permissions'),
      get('/userinfo'),
    ]);
    const { user_id: id, roles } = permissions;
    const [role] = (roles as Role[]).filter(isRole);
    if (typeof id !== 'string' || role === undefined) throw new SignInEnded('the token has no user or role');
    return { id, role, name: String(name ?? email ?? id) };
  }

  return {
    async begin(returnTo, again) {
      const pending = {
        state: oauth.randomState(),
        nonce: oauth.randomNonce(),
        verifier: oauth.randomPKCECodeVerifier(),
        returnTo,
      };
      const url = oauth.buildAuthorizationUrl(configure(), {
        redirect_uri: redirectUri,
        scope: SCOPE,
        state: pending.state,
        nonce: pending.nonce,
        code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
        code_challenge_method: 'S256',
        ...(again ? { prompt: 'login' } : {}),
      });
      return { url: url.href, pending };
    },
    async finish(response, { state, nonce, verifier }, cause) {
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier };
      // The redirect URI is sent along as it was, whatever host the request came by.
      const url = new URL(redirectUri + response.search);
      const exchange = oauth.authorizationCodeGrant(configure(cause), url, checks);
      const granted = await exchange.catch((error: unknown) => {
        const away = unavailability(error);
        throw (
          away ?? (isClientError(error) ? new SignInRefused('the sign-in failed', { cause: error }) : error)
        );
      });
      if (granted.refresh_token === undefined) throw new Error('no refresh token was issued');
      return signedIn(granted, granted.refresh_token, cause);
    },
    async refresh({ refresh }, cause) {
      const granted = await oauth.refreshTokenGrant(configure(cause), refresh).catch((error: unknown) => {
        const ended = error instanceof oauth.ResponseBodyError && error.error === 'invalid_grant';
        throw ended
          ? new SignInEnded('the grant has ended', { cause: error })
          : (unavailability(error) ?? error);
      });
      return signedIn(granted, granted.refresh_token ?? refresh, cause);
    },
    async exchange(token, cause) {
      const parameters = { subject_token: token, subject_token_type: ACCESS_TOKEN };
      try {
        const granted = await oauth.genericGrantRequest(configure(cause), EXCHANGE, parameters);
        return { token: granted.access_token, scopes: new Set(parseScope(granted.scope ?? '')) };
      } catch (error) {
        const isRefused = error instanceof oauth.ResponseBodyError && REFUSALS.has(error.error);
        if (isRefused) return undefined;
        throw unavailability(error) ?? error;
      }
    },
    async revoke({ refresh }, cause) {
      await oauth.tokenRevocation(configure(cause), refresh, { token_type_hint: 'refresh_token' });
    },
    // By client_id and not by an ID token, so that no token reaches the browser.
    signOutUrl: `${issuer}/oauth2/logout?${new URLSearchParams({
      client_id: clientId,
      post_logout_redirect_uri: `${issuer}/dashboard/signed-out`,
    })}`,
  };
}

/** Makes requests to identity, with or without openid-client. */
function createIdentityClient({ issuer, identityUrl, clientId, ...credential }: ClientOptions) {
  const authenticate = clientAuthentication(credential);
  const scheme = new URL(issuer).protocol.slice(0, -1);
  const server = {
    issuer,
    authorization_endpoint: `${issuer}/oauth2/authorize`,
    token_endpoint: `${identityUrl}/oauth2/token`,
    revocation_endpoint: `${identityUrl}/oauth2/revoke`,
    jwks_uri: `${identityUrl}/.well-known/jwks.json`,
    authorization_response_iss_parameter_supported: true,
  };

  /** The client for requests that have this cause. */
  function configure(cause?: Cause): oauth.Configuration {
    const config = new oauth.Configuration(server, clientId, {}, authenticate);
    // Within a deployment the services talk in plain HTTP; browsers are sent to the issuer only.
    oauth.allowInsecureRequests(config);
    if (cause !== undefined) {
      config[oauth.customFetch] = (url, options) => ask(url, options as OutboundInit, cause);
    }
    return config;
  }

  /** A request to identity. Throws `unavailable` unless it is answered, be it with an error. */
  async function ask(url: string, init: OutboundInit, cause: Cause): Promise<Response> {
    let received: Response;
    try {
      const headers = { ...(init.headers as Record<string, string>), ...causeHeaders(cause, scheme) };
      const response = await outbound.fetch(url, { ...init, headers });
      received = new Response(await response.arrayBuffer(), response);
    } catch (error) {
      throw unavailable(AWAY, error);
    }
    if (received.status !== 429 && received.status < 500) return received;
    const seconds = Number(received.headers.get('retry-after')) || undefined;
    throw unavailable(AWAY, new Error(`${new URL(url).pathname} answered ${received.status}`), seconds);
  }

  return { configure, ask };
}

function clientAuthentication({
  clientSecret,
  clientAssertionFile: file,
}: Pick<ClientOptions, 'clientSecret' | 'clientAssertionFile'>): oauth.ClientAuth {
  if (file === undefined) return oauth.ClientSecretPost(clientSecret);
  return async (_server, client, body) => {
    const parameters = { client_id: client.client_id, ...(await readClientAssertion(file)) };
    for (const [name, value] of Object.entries(parameters)) body.set(name, value);
  };
}

/** Our own error, which openid-client passes on as the cause of one of its own. */
function unavailability(error: unknown): ServiceError | undefined {
  const cause = error instanceof oauth.ClientError ? error.cause : undefined;
  return cause instanceof ServiceError ? cause : undefined;
}

function isClientError(error: unknown): boolean {
  const kinds = [oauth.ResponseBodyError, oauth.AuthorizationResponseError, oauth.ClientError];
  return kinds.some((kind) => error instanceof kind);
}
