import Router from '@koa/router';
import type { Ports, WithSettings } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import type { wellKnownSettings } from './settings.ts';

const DAY_MS = 86_400_000;
/** RFC 9116 §2.5.5 recommends less than a year. */
const EXPIRES_DAYS = 180;

/** The addresses at which password managers and researchers look (RFC 8615). */
export function wellKnown(core: Ports<'pages'> & WithSettings<typeof wellKnownSettings>): IdentityModule {
  const { securityContact: contact } = core.config;
  const router = new Router({ sensitive: true });
  // https://w3c.github.io/webappsec-change-password-url/
  router.get('/.well-known/change-password', (ctx) => {
    ctx.redirect('/account/password');
  });
  if (contact !== undefined) {
    router.get('/.well-known/security.txt', (ctx) => {
      const expires = new Date(Math.ceil(Date.now() / DAY_MS + EXPIRES_DAYS) * DAY_MS).toISOString();
      ctx.type = 'text/plain; charset=utf-8';
      ctx.set('cache-control', 'public, max-age=86400');
      ctx.body = `Contact: ${contact}\nExpires: ${expires}\nCanonical: ${core.issuer}/.well-known/security.txt\n`;
    });
  }
  return { routers: [router], pages: ['/.well-known/change-password', '/.well-known/security.txt'] };
}
