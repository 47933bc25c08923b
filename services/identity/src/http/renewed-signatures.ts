import type { Middleware } from 'koa';

const YEAR_MS = 365 * 86_400_000;
const WITHOUT_END = /^[^=;]+\.sig=[^;]+(?!.*;\s*expires=)/i;

/**
 * When the key in use has been replaced, the cookies library signs the cookies of a browser again, and the signature gets no end:
 * it would be gone when the browser is closed, and with it the cookie that it belongs to. One that outlives its cookie does
 * no harm.
 */
export const keepRenewedSignatures: Middleware = async (ctx, next) => {
  await next();
  if (!ctx.res.hasHeader('set-cookie')) return;
  const lines = [ctx.response.get('set-cookie')].flat();
  if (!lines.some((line) => WITHOUT_END.test(line))) return;
  const end = `; expires=${new Date(Date.now() + YEAR_MS).toUTCString()}`;
  ctx.set(
    'set-cookie',
    lines.map((line) => (WITHOUT_END.test(line) ? line + end : line)),
  );
};
