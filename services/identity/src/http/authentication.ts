import { type CallLimits, createCallLimits, identifyCaller } from '@gatehouse/http/identify-caller';
import { createApiKeyResolver } from '@gatehouse/tokens/api-keys';
import type { Caller } from '@gatehouse/tokens/caller';
import { type CredentialVerifier, createCredentialVerifier } from '@gatehouse/tokens/credentials';
import type { RevocationFeed } from '@gatehouse/tokens/revocation-feed';
import { apiAudience, internalAudience } from '@gatehouse/tokens/scopes';
import { createTokenVerifier } from '@gatehouse/tokens/verifier';
import type { JWTVerifyGetKey } from 'jose';
import type { Context } from 'koa';

type Authenticate = (ctx: Context) => Promise<Caller>;

/** Who makes a request. All of these throw `unauthenticated` for a credential that is not valid. */
export type Authentication = {
  /** A caller of the API. Throws `rate_limited` as well. */
  authenticate: Authenticate;
  /** A service that calls the internal routes. */
  authenticateService: Authenticate;
  verifyAccessToken(token: string): Promise<Caller>;
  /** The same for a token that may have been revoked. */
  verifySignature(token: string): Promise<Caller>;
  /** An access token or an API key. */
  verifyCredential(credential: string): Promise<Caller>;
};

/** Verifies as the other services do, except that keys and API keys need not be fetched. */
export function createAuthentication(options: {
  issuer: string;
  provider: { publicKeys: JWTVerifyGetKey };
  feed: RevocationFeed;
  apiKeys: Pick<Parameters<typeof createApiKeyResolver>[0], 'resolve'>;
  rateLimit: boolean;
  /** Called for each caller of the API. */
  onCaller(caller: Caller): void;
}): Authentication {
  const { issuer, provider, feed, apiKeys } = options;
  const verifierFor = (audience: string) =>
    createTokenVerifier({ issuer, audience, keys: provider.publicKeys, revocations: feed.set });
  const tokens = verifierFor(apiAudience(issuer));
  const signatures = createTokenVerifier({
    ...{ issuer, audience: apiAudience(issuer), keys: provider.publicKeys },
    cacheSize: 100,
  });
  const credentials = createCredentialVerifier({
    tokens,
    apiKeys: createApiKeyResolver({ resolve: apiKeys.resolve, set: feed.set }),
    feed,
    publicUrl: issuer,
  });
  const internal = createCredentialVerifier({
    tokens: verifierFor(internalAudience(issuer, 'identity')),
    feed,
    publicUrl: issuer,
  });

  function authenticateWith(verifier: CredentialVerifier, limits?: CallLimits): Authenticate {
    return (ctx) =>
      identifyCaller(ctx.req, { credentials: verifier, limits, setHeaders: (headers) => ctx.set(headers) });
  }

  const authenticate = authenticateWith(credentials, options.rateLimit ? createCallLimits() : undefined);

  return {
    async authenticate(ctx) {
      const caller = await authenticate(ctx);
      options.onCaller(caller);
      return caller;
    },
    authenticateService: authenticateWith(internal),
    verifyAccessToken: tokens.verify,
    verifySignature: signatures.verify,
    verifyCredential: (credential) =>
      credentials.verify({ authorization: `Bearer ${credential}`, dpop: undefined, method: 'GET', path: '' }),
  };
}
