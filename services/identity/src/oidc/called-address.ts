import type { Context } from 'koa';
import type Provider from 'oidc-provider';

type OidcContext = {
  ctx: Context;
  route: string;
  urlFor(name: string, options?: object): string;
  clientJwtAuthExpectedAudience(): Set<string>;
};

const CALLED = Symbol('called path');

/** Notes the path that was called, before the request goes on to where oidc-provider listens for it. */
export function noteCalledPath(ctx: Context): void {
  (ctx as Context & { [CALLED]?: string })[CALLED] = ctx.path;
}

/**
 * oidc-provider knows one address of each endpoint, and the token endpoint has two: a DPoP proof names the one
 * that was called (RFC 9449 §4.3), and an assertion either of them (RFC 7523 §3).
 */
export function knowCalledAddress(provider: Provider): void {
  const { prototype } = (provider as unknown as { OIDCContext: { prototype: OidcContext } }).OIDCContext;
  const { urlFor, clientJwtAuthExpectedAudience } = prototype;
  prototype.urlFor = function calledOr(name, options) {
    const called = (this.ctx as Context & { [CALLED]?: string })[CALLED];
    return called !== undefined && name === this.route
      ? new URL(called, provider.issuer).href
      : urlFor.call(this, name, options);
  };
  prototype.clientJwtAuthExpectedAudience = function withBoth() {
    return new Set([...clientJwtAuthExpectedAudience.call(this), urlFor.call(this, 'token')]);
  };
}
