import { unavailable } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/logger';
import { requestInfo } from '@gatehouse/kit/requests';
import { createLocalJWKSet, type JWK, type JWTVerifyGetKey } from 'jose';
import type { Context, Middleware } from 'koa';
import compose from 'koa-compose';
import type Provider from 'oidc-provider';
import type { errors, KoaContextWithOIDC } from 'oidc-provider';
import type { SigningKeySet } from '../keys/signing-keys.ts';
import { createProvider, type ProviderOptions } from './provider.ts';
import { createTokenSigner, type TokenSigner } from './token-signer.ts';

/** What signs and verifies. It is built anew whenever the signing keys change, and swapped in one step. */
export type Engine = {
  /** For requests that none of our own routes has answered. */
  middleware: Middleware;
  provider(): Provider;
  sign(): TokenSigner;
  /** Our own public keys. */
  keys: JWTVerifyGetKey;
  use(keys: SigningKeySet): Promise<void>;
  /** What made oidc-provider answer server_error. */
  faultOf(ctx: Context): unknown;
};

/** What oidc-provider tells of what it refuses. */
const REFUSALS = [
  'grant.error',
  'authorization.error',
  'revocation.error',
  'introspection.error',
  'pushed_authorization_request.error',
];

/** The engine throws `unavailable` before it has been given keys. */
export function createEngine(options: Omit<ProviderOptions, 'keys'> & { logger: Logger }): Engine {
  const { issuer, accessTokenAlgorithm, logger } = options;
  const faults = new WeakMap<object, unknown>();
  let parts:
    | { provider: Provider; middleware: Middleware; sign: TokenSigner; keys: JWTVerifyGetKey }
    | undefined;

  function current() {
    if (parts === undefined) throw unavailable('The signing keys are not loaded yet.');
    return parts;
  }

  /** The caller is told little, so that nobody learns by trying; whoever runs this finds the reason here. */
  function logRefusal(ctx: KoaContextWithOIDC, thrown: Error): void {
    const { error, error_description, error_detail: reason } = thrown as errors.OIDCProviderError;
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
    middleware: async (ctx, next) => current().middleware(ctx, next),
    provider: () => current().provider,
    sign: () => current().sign,
    keys: (header, token) => current().keys(header, token),
    async use({ keys, currentKid }) {
      const signingKey = keys.find(({ kid }) => kid === currentKid[accessTokenAlgorithm]);
      if (signingKey === undefined) throw new Error(`there is no current ${accessTokenAlgorithm} key`);
      const provider = createProvider({ ...options, keys: { keys } });
      provider.on('server_error', (ctx: KoaContextWithOIDC, error: unknown) => faults.set(ctx.res, error));
      for (const event of REFUSALS) {
        provider.on(event as 'grant.error', logRefusal);
      }
      parts = {
        provider,
        middleware: compose(provider.middleware) as Middleware,
        sign: await createTokenSigner(issuer, signingKey),
        keys: createLocalJWKSet({ keys: keys.map(publicPart) }) as JWTVerifyGetKey,
      };
    },
    faultOf: (ctx) => faults.get(ctx.res),
  };
}

/** Without the private members of RFC 7518 §6. */
function publicPart({ d, p, q, dp, dq, qi, ...rest }: JWK): JWK {
  return rest;
}
