import { SERVICES } from '@gatehouse/core/services';
import { prefersHtml } from '@gatehouse/server/accept';
import { PRODUCT } from '@gatehouse/web/document';
import Router from '@koa/router';
import { sendPage } from '../http/respond.ts';
import { LANDING_LINKS, type LandingModel, landingPage } from './landing-page.ts';

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
