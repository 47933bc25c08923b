import Router from '@koa/router';
import { type Encoded, sendEncoded } from '../http/encoded.ts';
import { ASSETS } from '../pages/assets.ts';

const FOREVER = 'public, max-age=31536000, immutable';

/** Styles and scripts, compressed once. */
export function assetRoutes(): Router {
  const router = new Router({ prefix: '/dashboard', sensitive: true });
  const encoded = new Map<string, Encoded>([...ASSETS].map(([path, { text }]) => [path, { text }]));
  router.get('/assets/:name', (ctx) => {
    const asset = encoded.get(ctx.path);
    if (asset === undefined) return;
    ctx.set('cache-control', FOREVER);
    ctx.type = ctx.path.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8';
    sendEncoded(ctx, asset);
  });
  return router;
}
