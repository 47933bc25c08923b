import { type CallLimits, createCallLimits, identifyCaller } from '@gatehouse/api/http/identify-caller';

import type { RateLimitStore } from '@gatehouse/api/http/rate-limit-store';
import { ServiceError } from '@gatehouse/core/errors';
import { requestInfo } from '@gatehouse/server/requests';
import { createApiKeyResolver } from '@gatehouse/tokens/api-keys';
import type { Caller } from '@gatehouse/tokens/caller';
import { type CredentialVerifier, createCredentialVerifier } from '@gatehouse/tokens/credentials';
import type { RevocationFeed } from '@gatehouse/tokens/revocation-feed';
import { apiAudience, internalAudience } from '@gatehouse/tokens/scopes';
import { createTokenVerifier, type TokenVerifier } from '@gatehouse/tokens/verifier';
import { API_KEY_PREFIX } from '@gatehouse/verify/api-key';
import { decodeJwt, type JWTVerifyGetKey } from 'jose';
import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';

/** The caller of a request. Each function throws `unauthenticated` for a credential that is not valid. */
export type Authentication = {
  /**
   * A caller of the API, by the Authorization header or what is given in its place. Throws `rate_limited` as well.
   */
  authenticate(ctx: Context, authorization?: string): Promise<Caller>;
  /** Counts a request that is answered without a credential. Throws `rate_limited`. */
  countUnauthenticated(ctx: Context): Promise<void>;
  /** Counts a request of an application that has authenticated by itself. Throws `rate_limited`. */
  countApplication(ctx: Context, clientId: string): Promise<void>;
  /** A service that calls the internal routes. */
  authenticateService(ctx: Context): Promise<Caller>;
  /** The caller by an API key or by an access token for the API or for a resource of others, and which of these that is. */
  verifyForAnyResource(token: string): Promise<{ caller: Caller; audience: string }>;
  /** The caller by the value of an Authorization header alone, without a DPoP proof. */
  verifyCredential(authorization: string): Promise<Caller>;
  /** The same for a token that may have been revoked. */
  verifySignature(token: string): Promise<Caller>;
};

/** Verifies as the other services do, except that keys and API keys need not be fetched. */
export function createAuthentication(options: {
  issuer: string;
  publicKeys: JWTVerifyGetKey;
  feed: RevocationFeed;
  applicationKeys: readonly Pick<Parameters<typeof createApiKeyResolver>[0], 'resolve'>[];
  /** Finds a resource of somebody else, that tokens can be for. */
  findResource(identifier: string): Promise<{ identifier: string } | undefined>;
  rateLimit: boolean;
  /** Called for each caller of the API. */
  onCaller(caller: Caller): void;
  sharedLimits: RateLimitStore | undefined;
}): Authentication {
  const { issuer, publicKeys, feed, applicationKeys } = options;
  async function resolve(...key: Parameters<(typeof applicationKeys)[number]['resolve']>) {
    for (const keys of applicationKeys) {
      const found = await keys.resolve(...key);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  const verifierFor = (audience: string) =>
    createTokenVerifier({ issuer, audience, keys: publicKeys, revocations: feed.set });
  const api = apiAudience(issuer);
  const tokens = verifierFor(api);
  const ofOthers = new LRUCache<string, TokenVerifier>({ max: 100 });
  const signatures = createTokenVerifier({
    issuer,
    audience: apiAudience(issuer),
    keys: publicKeys,
    cacheSize: 100,
  });
  const keysFor = (isForOthers: boolean) =>
    createApiKeyResolver({
      async resolve(...key) {
        const found = await resolve(...key);
        return (found?.resource !== undefined) === isForOthers ? found : undefined;
      },
      set: feed.set,
    });
  const keysOfOthers = keysFor(true);
  const credentials = createCredentialVerifier({
    tokens,
    apiKeys: keysFor(false),
    feed,
    publicUrl: issuer,
  });
  const internal = createCredentialVerifier({
    tokens: verifierFor(internalAudience(issuer, 'identity')),
    feed,
    publicUrl: issuer,
  });

  const limits = options.rateLimit ? createCallLimits(options.sharedLimits) : undefined;

  function authenticateWith(
    verifier: CredentialVerifier,
    limits?: CallLimits,
  ): Authentication['authenticate'] {
    return (ctx, authorization) =>
      identifyCaller(ctx.req, {
        credentials: verifier,
        limits,
        authorization,
        setHeaders: (headers) => ctx.set(headers),
      });
  }

  const authenticate = authenticateWith(credentials, limits);

  return {
    async authenticate(ctx, authorization) {
      const caller = await authenticate(ctx, authorization);
      options.onCaller(caller);
      return caller;
    },
    async countUnauthenticated(ctx) {
      const { address } = requestInfo(ctx.req);
      if (limits !== undefined) ctx.set(await limits.unauthenticated.count(address));
    },
    async countApplication(ctx, clientId) {
      requestInfo(ctx.req).client = clientId;
      if (limits !== undefined) ctx.set(await limits.authenticated.count(`${clientId} ${clientId}`));
    },
    authenticateService: authenticateWith(internal),
    async verifyForAnyResource(token) {
      if (token.startsWith(API_KEY_PREFIX)) {
        const ofOthers = await keysOfOthers.verify(token).catch((error: unknown) => {
          if (error instanceof ServiceError && error.kind === 'unauthenticated') return undefined;
          throw error;
        });
        const caller = ofOthers ?? (await credentials.callerBy(`ApiKey ${token}`));
        return { caller, audience: caller.resource ?? api };
      }
      const audience = audienceOf(token);
      const resource =
        audience === undefined || audience === api ? undefined : await options.findResource(audience);
      if (resource === undefined || resource.identifier !== audience) {
        return { caller: await tokens.verify(token), audience: api };
      }
      const verifier = ofOthers.get(audience) ?? verifierFor(audience);
      ofOthers.set(audience, verifier);
      return { caller: await verifier.verify(token), audience };
    },
    verifyCredential: credentials.callerBy,
    verifySignature: signatures.verify,
  };
}

/** The audience that a token names, before anything of it is verified. */
function audienceOf(token: string): string | undefined {
  try {
    const { aud } = decodeJwt(token);
    return typeof aud === 'string' ? aud : undefined;
  } catch {
    return undefined;
  }
}
