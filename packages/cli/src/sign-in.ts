import type { webcrypto } from 'node:crypto';
import * as client from 'openid-client';
import { ApiError, createApiClient, type Send, unreachable } from './api-client.ts';
import { CliError } from './errors.ts';

const CLIENT_ID = 'gatehouse-cli';
/** All scopes of people. The role of the person decides which are granted. */
const SCOPE =
  'openid profile email roles read:profile read:users write:users read:data write:data read:all manage:apps';
/** The time limit of requests to the token endpoint, in seconds. */
const TIMEOUT = 30;

/** The tokens of a sign-in, and the private key to which they are bound (RFC 9449). */
export type Credentials = {
  accessToken: string;
  refreshToken: string;
  /** In milliseconds since the epoch. */
  expiresAt: number;
  key: webcrypto.JsonWebKey;
};

/** The strength of a sign-in that a resource asks for (RFC 9470 §4). */
export type Strength = { max_age?: string; acr_values?: string };

/** The sign-in has ended: a person signed it out, or changed the password. */
export class SignInEndedError extends Error {}

/** The client of the token endpoint and of the API, which sends `userAgent` with each request. */
export type SignIn = ReturnType<typeof createSignIn>;

export function createSignIn(userAgent: string) {
  function configure(metadata: client.ServerMetadata, signal?: AbortSignal): client.Configuration {
    const config = new client.Configuration(metadata, CLIENT_ID, undefined, client.None());
    if (new URL(metadata.issuer).protocol === 'http:') client.allowInsecureRequests(config);
    config[client.customFetch] = (url, init) => {
      const headers = new Headers(init.headers as Record<string, string>);
      headers.set('user-agent', userAgent);
      return fetch(url, { ...(init as RequestInit), headers, signal: init.signal ?? signal ?? null });
    };
    return config;
  }

  /** The deployment at an address, by its metadata (RFC 8414). */
  async function discover(url: string): Promise<client.ServerMetadata> {
    const signal = AbortSignal.timeout(TIMEOUT * 1000);
    const { body } = await createApiClient({ url, userAgent })
      .request('GET', '/.well-known/openid-configuration', { signal })
      .catch((error) => (error instanceof ApiError ? error : Promise.reject(error)));
    const metadata = Object(body) as client.ServerMetadata;
    if (typeof metadata.issuer === 'string') return metadata;
    throw new CliError(`There is no Gatehouse at ${url}: check the address.`);
  }

  async function tokenClient(issuer: string): Promise<client.Configuration> {
    const config = configure(await discover(issuer));
    config.timeout = TIMEOUT;
    return config;
  }

  return {
    /** The issuer of a deployment's tokens. */
    async issuerOf(url: string): Promise<string> {
      return (await discover(url)).issuer;
    },

    /** Begins the device flow (RFC 8628). `wait` rejects with a {@link CliError} when the person refuses, or the code expires. */
    async start(issuer: string, asked: Strength | { resource: string } = {}) {
      const config = await tokenClient(issuer);
      const key = await client.randomDPoPKeyPair('ES256', { extractable: true });
      const codes = await client
        .initiateDeviceAuthorization(config, 'resource' in asked ? asked : { scope: SCOPE, ...asked })
        .catch((error) => {
          if (error.error !== 'invalid_client') throw failureOf(issuer, error);
          throw new CliError(
            `${issuer} does not know the command line, which needs Gatehouse 0.1.0 or newer.`,
          );
        });
      const { verification_uri, verification_uri_complete = verification_uri, user_code, expires_in } = codes;
      return {
        page: { verification_uri, verification_uri_complete, user_code, expires_in },
        async wait(): Promise<Credentials> {
          const DPoP = client.getDPoPHandle(config, key);
          const signal = AbortSignal.timeout(expires_in * 1000);
          const tokens = await client
            .pollDeviceAuthorizationGrant(config, codes, undefined, { DPoP, signal })
            .catch((error) =>
              Promise.reject(failureOf(issuer, signal.aborted ? { error: 'expired_token' } : error)),
            );
          return credentialsOf(tokens, await crypto.subtle.exportKey('jwk', key.privateKey));
        },
      };
    },

    /** New tokens for a sign-in. Rejects with a {@link SignInEndedError} when it has ended. */
    async refresh(issuer: string, { refreshToken, key }: Credentials): Promise<Credentials> {
      const config = await tokenClient(issuer);
      const DPoP = client.getDPoPHandle(config, await keyPairOf(key));
      const tokens = await client
        .refreshTokenGrant(config, refreshToken, undefined, { DPoP })
        .catch((error) =>
          Promise.reject(error.error === 'invalid_grant' ? new SignInEndedError() : failureOf(issuer, error)),
        );
      return credentialsOf(tokens, key);
    },

    /** Revokes an access token of the command line, or a refresh token together with its sign-in (RFC 7009). */
    async revoke(issuer: string, token: string): Promise<void> {
      await client
        .tokenRevocation(await tokenClient(issuer), token)
        .catch((error) => Promise.reject(failureOf(issuer, error)));
    },

    /** Sends a request with the access token and a proof of its key. */
    async send(
      issuer: string,
      { accessToken, key }: Credentials,
      ...[url, init]: Parameters<Send>
    ): Promise<Response> {
      const config = configure({ issuer }, init.signal);
      // The client breaks every response off after 30 seconds, and a stream of events does not end.
      config.timeout = init.headers.get('accept') === 'text/event-stream' ? 0 : TIMEOUT;
      const DPoP = client.getDPoPHandle(config, await keyPairOf(key));
      const { method, headers, body } = init;
      return client
        .fetchProtectedResource(config, accessToken, url, method, body, headers, { DPoP })
        .catch((error) => {
          if (error instanceof client.WWWAuthenticateChallengeError) return error.response;
          throw error;
        });
    },
  };
}

function credentialsOf(tokens: client.TokenEndpointResponse, key: webcrypto.JsonWebKey): Credentials {
  const { access_token: accessToken, refresh_token: refreshToken = '', expires_in: seconds = 0 } = tokens;
  return { accessToken, refreshToken, expiresAt: Date.now() + seconds * 1000, key };
}

async function keyPairOf(jwk: webcrypto.JsonWebKey): Promise<client.CryptoKeyPair> {
  const { d: _, key_ops: _ops, ...publicJwk } = jwk;
  const load = (key: webcrypto.JsonWebKey, use: webcrypto.KeyUsage) =>
    crypto.subtle.importKey('jwk', key, { name: 'ECDSA', namedCurve: 'P-256' }, true, [use]);
  const [privateKey, publicKey] = await Promise.all([load(jwk, 'sign'), load(publicJwk, 'verify')]);
  return { privateKey, publicKey };
}

const FAILURES: Record<string, string> = {
  access_denied: 'The sign-in was cancelled on the page. To try again, run `gatehouse login`.',
  expired_token:
    'The code expired before anybody allowed the sign-in. To get a new one, run `gatehouse login`.',
};

/** A failure of the authorization server in a sentence. */
function failureOf(
  issuer: string,
  error: Partial<Error> & { error?: string; error_description?: string; code?: string },
) {
  if (error instanceof TypeError || error.code === 'OAUTH_TIMEOUT') return unreachable(issuer, error);
  const { error: code = '', error_description: description = code || error.message } = error;
  return new CliError(FAILURES[code] ?? `The deployment reported an error: ${description}`);
}
