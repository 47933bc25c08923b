import { MCP_METADATA_PATH, RESOURCE_METADATA_PATH } from '@gatehouse/tokens/resource-metadata';
import { apiAudience, mcpAudience } from '@gatehouse/tokens/scopes';
import Router from '@koa/router';
import type { Ports, WithSettings } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';
import type { wellKnownSettings } from './settings.ts';

const DAY_MS = 86_400_000;
/** RFC 9116 §2.5.5 recommends less than a year. */
const EXPIRES_DAYS = 180;

const CATALOG_PROFILE = 'https://www.rfc-editor.org/info/rfc9727';

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
  // RFC 9727.
  const catalog = JSON.stringify(apiCatalog(core.issuer));
  router.get('/.well-known/api-catalog', (ctx) => {
    ctx.set({
      'content-type': `application/linkset+json; profile="${CATALOG_PROFILE}"`,
      'access-control-allow-origin': '*',
      'cache-control': 'public, max-age=3600',
      // RFC 9727 §5.
      link: `<${core.issuer}/.well-known/api-catalog>; rel="api-catalog"`,
    });
    ctx.body = catalog;
  });
  return {
    routers: [router],
    pages: ['/.well-known/change-password', '/.well-known/security.txt', '/.well-known/api-catalog'],
  };
}

/** The APIs of the deployment with their descriptions (RFC 9727 §4), as a linkset (RFC 9264 §4.2). */
function apiCatalog(issuer: string): object {
  const metadata = `${issuer}${RESOURCE_METADATA_PATH}`;
  return {
    linkset: [
      {
        anchor: apiAudience(issuer),
        'service-desc': [{ href: `${issuer}/openapi.json`, type: 'application/json' }],
        'service-doc': [
          { href: `${issuer}/docs/api`, type: 'text/html' },
          { href: `${issuer}/llms.txt`, type: 'text/plain' },
        ],
        'service-meta': [{ href: metadata, type: 'application/json' }],
      },
      {
        anchor: mcpAudience(issuer),
        'service-doc': [{ href: `${issuer}/docs/guides/use-from-an-agent.md`, type: 'text/markdown' }],
        'service-meta': [{ href: `${issuer}${MCP_METADATA_PATH}`, type: 'application/json' }],
      },
    ],
  };
}
