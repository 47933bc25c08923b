import { unavailable } from '@gatehouse/kit/errors';
import { createLocalJWKSet, type JWK, type JWTVerifyGetKey } from 'jose';
import type { Context, Middleware } from 'koa';
import compose from 'koa-compose';
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
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

/** The engine throws `unavailable` before it has been given keys. */
export function createEngine(options: Omit<ProviderOptions, 'keys'>): Engine {
  const { issuer, accessTokenAlgorithm } = options;
  const faults = new WeakMap<object, unknown>();
  let parts:
    | { provider: Provider; middleware: Middleware; sign: TokenSigner; keys: JWTVerifyGetKey }
    | undefined;

  function current() {
    if (parts === undefined) throw unavailable('The signing keys are not loaded yet.');
    return parts;
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
