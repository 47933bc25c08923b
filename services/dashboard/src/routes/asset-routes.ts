import { brotliCompressSync, gzipSync } from 'node:zlib';
import Router from '@koa/router';
import { ASSETS } from '../pages/assets.ts';

const FOREVER = 'public, max-age=31536000, immutable';

/** Styles and scripts, compressed once. */
export function assetRoutes(): Router {
  const router = new Router({ prefix: '/dashboard', sensitive: true });
  const compressed = new Map<string, { br: Buffer; gzip: Buffer }>();
  router.get('/assets/:name', (ctx) => {
    const asset = ASSETS.get(ctx.path);
    if (asset === undefined) return;
    let forms = compressed.get(asset.path);
    if (forms === undefined) {
      forms = { br: brotliCompressSync(asset.text), gzip: gzipSync(asset.text) };
      compressed.set(asset.path, forms);
    }
    ctx.set({ 'cache-control': FOREVER, vary: 'accept-encoding' });
    ctx.type = asset.path.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8';
    const encoding = ctx.acceptsEncodings('br', 'gzip', 'identity');
    if (encoding === 'br' || encoding === 'gzip') {
      ctx.set('content-encoding', encoding);
      ctx.body = forms[encoding];
    } else ctx.body = asset.text;
  });
  return router;
}
