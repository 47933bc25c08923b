import { connectionFailure } from '@gatehouse/outbound/connection-failure';
import {
  BodyTooLargeError,
  type Bounds,
  type Outbound,
  type OutboundInit,
} from '@gatehouse/outbound/outbound';
import type { JWTVerifyGetKey, JWTVerifyOptions } from 'jose';
import { type JWTVerifyResult, jwtVerify } from 'jose';
import type { IdentityProvider } from '../../core/foundation/identity-provider.ts';
import type { AuthorizationChecks } from './authorization-state.ts';
import { readGitHubUser } from './github-user.ts';
import { isIssuerOf, UpstreamError, type UpstreamIdentity } from './upstream-identity.ts';
import {
  type Ask,
  clientAuthentication,
  fetchMetadata,
  type Loaded,
  TIMEOUT_MS,
} from './upstream-metadata.ts';

/** Us as a client of one provider: authorization code with PKCE (RFC 9700 §2.1.1). */
export type UpstreamClient = {
  /** Reads the metadata of the provider. Throws an UpstreamError when it cannot be reached, or they are not its own. */
  load(): Promise<void>;
  /** A sentence about the first thing that keeps people from signing in by the provider; undefined if nothing does. */
  test(): Promise<string | undefined>;
  /** Where the browser is sent. Throws an UpstreamError when the provider cannot be reached. */
  authorizationUrl(
    state: string,
    checks: AuthorizationChecks,
    /** `isOther`: the person may want another account there than the one that is signed in to, or than `loginHint`. */
    options?: { isOther?: boolean; loginHint?: string | undefined },
  ): Promise<string>;
  /** Exchanges the code in the authorization response. Throws an UpstreamError. */
  finish(
    response: ReadonlyMap<string, string>,
    checks: AuthorizationChecks & { state: string },
  ): Promise<UpstreamIdentity>;
  /**
   * Verifies the signature, issuer, times and audience of a token that the provider sends unasked; the audience is our client ID unless
   * the options name others. Throws an UpstreamError.
   */
  verifyNotification(token: string, options?: JWTVerifyOptions): Promise<JWTVerifyResult>;
};

/** Of the responses of a provider. */
export const UPSTREAM_BOUNDS: Bounds = { timeoutMs: TIMEOUT_MS, maxBytes: 256 * 1024 };
/** How long the metadata of a provider is used before it is fetched again. */
const METADATA_MS = 3600_000;
/** With the key of the provider, and not with the client's secret. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
/** How long ago somebody may have signed in there who is asked to sign in again, in seconds. */
const FRESH_SECONDS = 300;
/** The errors of providers when the person cancels; the second is Apple's. */
const CANCELLED = ['access_denied', 'user_cancelled_authorize'];

/**
 * @param options.redirectUri where the provider sends the browser back to, as it is registered there
 * @param options.outbound with UPSTREAM_BOUNDS
 */
export function createUpstreamClient(
  provider: IdentityProvider,
  options: { redirectUri: string; outbound: Pick<Outbound, 'fetch'> },
): UpstreamClient {
  const { redirectUri, outbound } = options;
  /** Without the stream of the body, so that what is wrong with it is seen here. */
  const ask = async (url: string | URL, init?: unknown): Promise<Response> => {
    const response = await outbound.fetch(url, init as OutboundInit);
    return new Response(await response.arrayBuffer(), response);
  };
  const authenticate = clientAuthentication(provider);
  let known: { loaded: Promise<Loaded>; until: number } | undefined;

  /** The library, which is loaded when somebody first needs it, and the metadata of the provider. */
  function load(): Promise<Loaded> {
    if (known !== undefined && known.until > Date.now()) return known.loaded;
    const before = known?.loaded;
    const fetched = fetchMetadata(provider, authenticate, ask);
    // Also for those who come while it is fetched.
    const loaded = before === undefined ? fetched : fetched.catch(() => before);
    known = { loaded, until: Date.now() + METADATA_MS };
    fetched.catch(() => {
      // The next one tries again; until it succeeds, what was known is used.
      known = before === undefined ? undefined : { loaded: before, until: 0 };
    });
    return loaded;
  }

  const loadOrFail = () =>
    load().catch((error: unknown) => {
      throw failureOf(error);
    });

  return {
    load: async () => void (await loadOrFail()),

    async test() {
      let doing = 'Its metadata cannot be read';
      try {
        const loaded = await fetchMetadata(provider, authenticate, ask);
        // OpenID Connect Discovery 1.0 §3 requires it of those with ID tokens.
        if (provider.protocol === 'openid') {
          doing = 'Its signing keys cannot be read';
          await readKeys(loaded.config.serverMetadata().jwks_uri, ask);
        }
        doing = 'Its token endpoint does not respond as it should';
        return (await isClientRefused(loaded, authenticate, { redirectUri, ask }))
          ? 'It does not accept the client ID or the secret.'
          : undefined;
      } catch (error) {
        return `${doing}: ${failureOf(error).message}.`;
      }
    },

    async authorizationUrl(state, { verifier, nonce, isFresh }, { isOther = false, loginHint } = {}) {
      const { oauth, config } = await loadOrFail();
      // OpenID Connect Core 1.0 §3.1.2.1. Every provider has `login`, and some have errors for others.
      const isChoice = [config.serverMetadata().prompt_values_supported].flat().includes('select_account');
      const choice = provider.accountPrompt ?? (isChoice ? 'select_account' : 'login');
      return oauth.buildAuthorizationUrl(config, {
        ...{ redirect_uri: redirectUri, scope: provider.scope, state },
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...(provider.protocol === 'openid' ? { nonce } : {}),
        ...(provider.responseMode === undefined ? {} : { response_mode: provider.responseMode }),
        ...(loginHint === undefined ? {} : { login_hint: loginHint }),
        ...(isFresh ? { prompt: 'login', max_age: '0' } : isOther && choice && { prompt: choice }),
      }).href;
    },

    async finish(response, { state, nonce, verifier, isFresh }) {
      try {
        const loaded = await load();
        const isOpenId = provider.protocol === 'openid';
        // The redirect URI as it was sent, whatever host this request came by.
        const url = new URL(`${redirectUri}?${new URLSearchParams([...response])}`);
        const tokens = await loaded.oauth.authorizationCodeGrant(loaded.config, url, {
          ...{ expectedState: state, pkceCodeVerifier: verifier },
          ...(isOpenId ? { expectedNonce: nonce, idTokenExpected: true } : {}),
        });
        return await identityOf(provider, loaded, { tokens, isFresh, ask });
      } catch (error) {
        throw failureOf(error);
      }
    },

    async verifyNotification(token, more) {
      try {
        const { logoutKeys } = await load();
        const verified = await verify(provider, token, logoutKeys, more);
        if (!isIssuerOf(provider, verified.payload.iss ?? ''))
          throw new UpstreamError('refused', 'the issuer is not the provider');
        return verified;
      } catch (error) {
        throw failureOf(error);
      }
    },
  };
}

/** Throws an UpstreamError unless there are keys at this address. */
async function readKeys(uri: string | undefined, ask: Ask): Promise<void> {
  if (uri === undefined) throw new UpstreamError('refused', 'its metadata has no jwks_uri');
  const response = await ask(uri);
  if (!response.ok) throw new UpstreamError('unavailable', `the server responded with ${response.status}`);
  const { keys } = Object(await response.json().catch(() => undefined)) as { keys?: unknown };
  if (!Array.isArray(keys) || keys.length === 0)
    throw new UpstreamError('refused', 'the response has no keys');
}

/** Errors by which a provider refuses a client; the last is GitHub's. */
const CLIENT_REFUSED = ['invalid_client', 'unauthorized_client', 'incorrect_client_credentials'];

/**
 * Whether the token endpoint refuses us as a client. It is asked with a code that nobody has issued: its error names the client if that is
 * wrong, and otherwise the code (RFC 6749 §5.2).
 */
async function isClientRefused(
  { oauth, config }: Pick<Loaded, 'oauth' | 'config'>,
  authenticate: ReturnType<typeof clientAuthentication>,
  { redirectUri, ask }: { redirectUri: string; ask: Ask },
): Promise<boolean> {
  const code = { grant_type: 'authorization_code', code: 'test', redirect_uri: redirectUri };
  const body = new URLSearchParams({ ...code, code_verifier: oauth.randomPKCECodeVerifier() });
  const headers = new Headers({
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
  });
  const server = config.serverMetadata();
  await (await authenticate(oauth))(server, config.clientMetadata(), body, headers);
  const response = await ask(server.token_endpoint ?? '', { method: 'POST', headers, body: String(body) });
  if (response.status === 401) return true;
  const { error } = Object(await response.json().catch(() => undefined)) as { error?: unknown };
  if (typeof error !== 'string')
    throw new UpstreamError('refused', `the server responded with ${response.status}`);
  return CLIENT_REFUSED.includes(error);
}

type Tokens = Awaited<ReturnType<typeof import('openid-client').authorizationCodeGrant>>;

function verify(
  provider: IdentityProvider,
  token: string,
  keys: JWTVerifyGetKey,
  more: JWTVerifyOptions = {},
) {
  return jwtVerify(token, keys, {
    ...{ algorithms: ALGORITHMS, audience: provider.clientId, clockTolerance: 30, ...more },
  });
}

async function identityOf(
  provider: IdentityProvider,
  loaded: Loaded,
  { tokens, isFresh, ask }: { tokens: Tokens; isFresh: boolean; ask: Ask },
): Promise<UpstreamIdentity> {
  if (provider.protocol === 'oauth') return readGitHubUser(provider.issuer, tokens.access_token, ask);
  const { oauth, config } = loaded;
  const idToken = tokens.claims();
  if (idToken === undefined) throw new UpstreamError('refused', 'there is no ID token');
  // OpenID Connect Core 1.0 §2: people of a provider without them would share one account.
  if (!isSubject(idToken.sub)) throw new UpstreamError('refused', 'sub must have 1 to 255 characters');
  // The library has checked its claims, and leaves the signature to TLS.
  await verify(provider, tokens.id_token ?? '', loaded.keys);
  if (isFresh && !isRecent(idToken.auth_time)) throw new UpstreamError('not_fresh', 'no recent auth_time');
  const { claims, secondFactor } = provider;
  const needed = [
    claims.email,
    ...(provider.trustsEmail ? [] : [claims.emailVerified]),
    ...(provider.refreshesProfile ? [claims.name, claims.picture] : []),
  ];
  const isComplete = needed.every((name) => idToken[name] !== undefined);
  const more: Record<string, unknown> =
    isComplete || config.serverMetadata().userinfo_endpoint === undefined
      ? {}
      : await oauth.fetchUserInfo(config, tokens.access_token, idToken.sub);
  const all: Record<string, unknown> = { ...more, ...idToken };
  const text = (name: string) => (typeof all[name] === 'string' && all[name] !== '' ? all[name] : undefined);
  // Of this address only. As a string by Apple.
  const ofSame = more[claims.email] === all[claims.email] ? more[claims.emailVerified] : undefined;
  const verified = idToken[claims.emailVerified] ?? ofSame;
  const isVerified = verified === true || verified === 'true';
  const amr = Array.isArray(idToken.amr) ? idToken.amr : [];
  return {
    issuer: idToken.iss,
    subject: idToken.sub,
    email: text(claims.email),
    isEmailVerified: isVerified || provider.trustsEmail,
    name: text(claims.name),
    picture: text(claims.picture),
    sid: text('sid'),
    hasSecondFactor:
      amr.some((it) => secondFactor.amr.includes(it as string)) ||
      secondFactor.acr.includes(String(idToken.acr)),
  };
}

/** Whether this is the time of a sign-in that somebody was just asked for (OpenID Connect Core 1.0 §2). */
function isRecent(authTime: number | undefined): boolean {
  return authTime !== undefined && Date.now() / 1000 - authTime <= FRESH_SECONDS;
}

/** The error, without the responses that the library keeps with its errors: codes and tokens can be in them. */
function failureOf(error: unknown): UpstreamError {
  if (error instanceof UpstreamError) return error;
  const { message, code, error: said, cause, status } = Object(error) as Record<string, unknown>;
  const reason = [message, code, said, cause instanceof Error ? cause.message : undefined];
  const text = reason.filter((it) => typeof it === 'string').join(': ');
  if (CANCELLED.includes(String(said))) return new UpstreamError('cancelled', text);
  const connection = connectionFailure(error);
  const isAway =
    said === 'temporarily_unavailable' ||
    said === 'server_error' ||
    Number(status) >= 500 ||
    connection !== undefined ||
    isIncomplete(error);
  return new UpstreamError(isAway ? 'unavailable' : 'refused', connection ?? text, text);
}

/** Whether a response came that is none of the provider's, or not in full. */
function isIncomplete(error: unknown): boolean {
  for (let it = error; it instanceof Error; it = it.cause) {
    if (it instanceof BodyTooLargeError) return true;
    if (/unexpected HTTP response status code|Expected 200 OK/.test(it.message)) return true;
  }
  return false;
}

const isSubject = (sub: string) => sub.length >= 1 && sub.length <= 255;
