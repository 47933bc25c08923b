import { language } from '@gatehouse/web/language';
import type { Context, Middleware } from 'koa';

/**
 * Answers with a page.
 *
 * @param options.formTargets the origins or schemes, other than our own, that its form may lead to
 */
export function sendPage(
  ctx: Context,
  html: string,
  options: { status?: number; formTargets?: readonly string[] } = {},
): void {
  const { status = 200, formTargets = [] } = options;
  ctx.status = status;
  ctx.type = 'text/html; charset=utf-8';
  ctx.set('content-language', language().tag);
  ctx.vary('accept-language');
  // Text of others is escaped, so that only our own scripts begin like this.
  setPageHeaders(ctx, formTargets, html.includes('<script '));
  ctx.body = html;
}

/** Sends the browser on to a GET request (RFC 9110 §15.4.4). */
export function seeOther(ctx: Context, location: string): void {
  ctx.status = 303;
  ctx.redirect(location);
}

/** The headers of every page: no content but our own stylesheet, and scripts where there are some, no frames, no caching. */
export function setPageHeaders(ctx: Context, formTargets: readonly string[] = [], hasScripts = false): void {
  ctx.set({
    'content-security-policy': [
      "default-src 'none'",
      "style-src 'self'",
      ...(hasScripts ? ["script-src 'self'"] : []),
      "img-src 'self' data:",
      // Browsers apply it to redirects after a form as well, and ours end at the application.
      `form-action 'self' ${formTargets.join(' ')}`.trimEnd(),
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  });
}

/**
 * The same for the pages that oidc-provider writes: forms that its script submits at once, to an application or to
 * us. oidc-provider adds the hash of the script to `script-src`.
 */
export const providerPageHeaders: Middleware = async (ctx, next) => {
  setPageHeaders(ctx);
  ctx.set(
    'content-security-policy',
    "default-src 'none'; script-src; base-uri 'none'; frame-ancestors 'none'",
  );
  await next();
};

/** Where a redirect URI leads, as a source for a policy: its origin, or the scheme of a native application. */
export function formTarget(redirectUri: string | undefined): string[] {
  const url = redirectUri === undefined ? null : URL.parse(redirectUri);
  if (url === null) return [];
  return [url.origin === 'null' ? url.protocol : url.origin];
}
