import { SERVICES } from '@gatehouse/core/services';
import { prefersHtml } from '@gatehouse/server/accept';
import { centeredPage, PRODUCT } from '@gatehouse/web/document';
import { html } from '@gatehouse/web/html';
import Router from '@koa/router';
import { sendPage } from '../http/respond.ts';
import { HEAD } from '../pages/assets.ts';
import { codeBlock } from '../pages/parts.ts';

/** `signUp`: whether people may create accounts for themselves. */
type LandingModel = { publicUrl: string; signUp: boolean };

/** The links of the page, for a program (RFC 8288 relation types). */
const LANDING_LINKS = [
  { rel: 'related', href: '/dashboard', title: 'Developer dashboard' },
  { rel: 'related', href: '/account', title: 'Your account' },
  { rel: 'service-doc', href: '/docs', title: 'Documentation' },
  { rel: 'service-desc', href: '/openapi.json', title: 'OpenAPI document of all services' },
  { rel: 'service-doc', href: '/guides/filters', title: 'Guide to filtering lists' },
];

/** The bare address: a page for a person, and links for a program. */
export function landingRoutes(model: LandingModel): Router {
  const router = new Router({ sensitive: true });
  const documents = Object.entries(SERVICES).flatMap(([name, { prefixes }]) =>
    prefixes
      .filter((prefix) => prefix.startsWith('/openapi/'))
      .map((href) => ({ rel: 'service-desc', href, title: `OpenAPI document of ${name}` })),
  );
  router.get('/', (ctx) => {
    if (prefersHtml(ctx.req.headers.accept)) sendPage(ctx, landingPage(model));
    else ctx.body = { name: PRODUCT, links: [...LANDING_LINKS, ...documents] };
    ctx.vary('accept');
  });
  return router;
}

/** The page at `/`, which introduces the product. */
export function landingPage({ publicUrl, signUp }: LandingModel): string {
  return centeredPage(
    {
      title: 'Sign-in and an API in one place',
      body: html`<h1>Sign-in and an API in one place</h1>
<p>${PRODUCT} signs people in to your applications, issues access tokens, and serves users, items, products and orders over one HTTP interface.</p>
<div class="buttons landing-buttons"><a class="primary" href="/dashboard">Open the dashboard</a>${signUp && html`<a class="secondary" href="/account/sign-up">Sign up</a>`}<a class="secondary" href="/docs">Documentation</a></div>
<dl class="landing-facts">
<div><dt>For people</dt><dd>OpenID Connect with PKCE, consent, sessions that end everywhere at once</dd></div>
<div><dt>For servers</dt><dd>client credentials, API keys, two live secrets for a change without downtime</dd></div>
<div><dt>For your data</dt><dd>search, filters and cursor pages; no row skipped, no order taken twice</dd></div>
</dl>
<h2>A first request</h2>
<p class="hint">With a client ID and a secret from the dashboard:</p>
${codeBlock('first-request', `curl ${publicUrl}/oauth2/token \\\n  -u "$CLIENT_ID:$CLIENT_SECRET" \\\n  -d grant_type=client_credentials`)}
<p class="small-print"><a href="/account">Your account</a>: profile, sessions, and the applications that have access to your account.</p>`,
    },
    HEAD,
  );
}
