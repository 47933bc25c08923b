import { unavailable } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { requestInfo } from '@gatehouse/server/requests';
import { createLocalJWKSet, type JWK, type JWTVerifyGetKey } from 'jose';
import type { Context, Middleware } from 'koa';
import compose from 'koa-compose';
import type Provider from 'oidc-provider';
import type { errors, KoaContextWithOIDC } from 'oidc-provider';
import type { PrivateKeys, SigningAlgorithm } from '../tokens/signing-algorithms.ts';
import { createEventSigner, createTokenSigner, type TokenSigner } from '../tokens/token-signer.ts';
import type { TokenSigning } from '../tokens/token-signing.ts';
import { oauthFailure } from './oauth-failure.ts';
import { createProvider } from './provider.ts';
import type { ProviderOptions } from './provider-options.ts';

/** oidc-provider and what else uses the signing keys. Whenever they change, it is rebuilt and swapped in one step. */
export type ReloadableProvider = {
  /** For requests that none of our own routes answers. */
  middleware: Middleware;
  current(): Provider;
  reload(keys: PrivateKeys): Promise<void>;
  /** The error for which oidc-provider responded with server_error. */
  serverErrorOf(ctx: Context): unknown;
};

/** The events by which oidc-provider reports what it refuses. */
const ERROR_EVENTS = [
  'grant.error',
  'authorization.error',
  'revocation.error',
  'introspection.error',
  'pushed_authorization_request.error',
  'device_authorization.error',
];

/** The responses to a device that asks before its person has decided (RFC 8628 §3.5). */
const WAITING = new Set(['authorization_pending', 'slow_down']);

/** Access tokens are JWTs, which are issued and not saved. */
const ISSUED = ['access_token.issued', 'client_credentials.issued'];

/** Throws `unavailable` until reload() has been called. */
export function createReloadableProvider(
  options: Omit<ProviderOptions, 'keys'> & {
    logger: Logger;
    /** Called for each access token that was issued. */
    onTokenIssued(clientId: string | undefined): void;
    signing: Pick<TokenSigning, 'change'>;
  },
): ReloadableProvider {
  const { issuer, accessTokenAlgorithm, logger } = options;
  const serverErrors = new WeakMap<object, unknown>();
  let parts: { provider: Provider; middleware: Middleware } | undefined;

  function loaded() {
    if (parts === undefined) throw unavailable('The signing keys are not loaded yet.');
    return parts;
  }

  /** The response says little, so that nobody learns by trying. The operator finds the reason in the log, and the
   * owner of the client in the log of its requests. */
  function logError(ctx: KoaContextWithOIDC, thrown: Error): void {
    const { error, error_description, error_detail: reason } = thrown as errors.OIDCProviderError;
    if (WAITING.has(error)) return;
    requestInfo(ctx.req).failure = oauthFailure(thrown, ctx.oidc.entities.Client);
    logger.info(
      {
        req_id: requestInfo(ctx.req).id,
        client: ctx.oidc.entities.Client?.clientId,
        error,
        reason: reason ?? error_description,
      },
      'refused',
    );
  }

  return {
    middleware: async (ctx, next) => loaded().middleware(ctx, next),
    current: () => loaded().provider,
    async reload({ keys, currentKid }) {
      const keyOf = (algorithm: SigningAlgorithm) => {
        const key = keys.find(({ kid }) => kid === currentKid[algorithm]);
        if (key === undefined) throw new Error(`there is no current ${algorithm} key`);
        return key;
      };
      const provider = createProvider({ ...options, keys: { keys } });
      provider.on('server_error', (ctx: KoaContextWithOIDC, error: unknown) =>
        serverErrors.set(ctx.res, error),
      );
      for (const event of ERROR_EVENTS) {
        provider.on(event as 'grant.error', logError);
      }
      for (const event of ISSUED) {
        provider.on(event as 'access_token.issued', ({ clientId }) => options.onTokenIssued(clientId));
      }
      const signers = {
        ES256: await createTokenSigner(issuer, keyOf('ES256')),
        RS256: await createTokenSigner(issuer, keyOf('RS256')),
      };
      const signer: TokenSigner = (draft) => signers[draft.algorithm ?? accessTokenAlgorithm](draft);
      const eventSigner = await createEventSigner(issuer, keyOf('RS256'));
      const publicKeys = createLocalJWKSet({ keys: keys.map(publicPart) }) as JWTVerifyGetKey;
      options.signing.change({ signer, eventSigner, publicKeys });
      parts = { provider, middleware: compose(provider.middleware) as Middleware };
    },
    serverErrorOf: (ctx) => serverErrors.get(ctx.res),
  };
}

/** Without the private members of RFC 7518 §6. */
function publicPart({ d, p, q, dp, dq, qi, ...rest }: JWK): JWK {
  return rest;
}
