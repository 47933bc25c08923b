import type { Context } from 'koa';
import type Provider from 'oidc-provider';

type OidcContext = {
  ctx: Context;
  route: string;
  urlFor(name: string, options?: object): string;
  clientJwtAuthExpectedAudience(): Set<string>;
};

const REQUESTED = Symbol('requested path');

/** Remembers the path that was requested, before the request is passed on to where oidc-provider listens. */
export function rememberRequestedPath(ctx: Context): void {
  (ctx as Context & { [REQUESTED]?: string })[REQUESTED] = ctx.path;
}

/**
 * oidc-provider knows one URL for each endpoint, and the token endpoint has two: a DPoP proof names the one that was
 * requested (RFC 9449 §4.3), and an assertion may name either (RFC 7523 §3).
 */
export function acceptEndpointAliases(provider: Provider): void {
  const { prototype } = (provider as unknown as { OIDCContext: { prototype: OidcContext } }).OIDCContext;
  const { urlFor, clientJwtAuthExpectedAudience } = prototype;
  prototype.urlFor = function requestedUrlFor(name, options) {
    const requested = (this.ctx as Context & { [REQUESTED]?: string })[REQUESTED];
    return requested !== undefined && name === this.route
      ? new URL(requested, provider.issuer).href
      : urlFor.call(this, name, options);
  };
  prototype.clientJwtAuthExpectedAudience = function bothTokenUrls() {
    return new Set([...clientJwtAuthExpectedAudience.call(this), urlFor.call(this, 'token')]);
  };
}
