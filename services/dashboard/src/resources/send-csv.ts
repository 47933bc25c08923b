import { Readable } from 'node:stream';
import { CSV_MEDIA_TYPE } from '@gatehouse/api/http/csv';
import type { Context } from 'koa';

/** Answers with a file of CSV, as its lines are made. An error on the way breaks the connection. */
export function sendCsv(ctx: Context, name: string, lines: AsyncIterable<string>): void {
  const today = new Date().toISOString().slice(0, 10);
  ctx.set({
    'content-type': CSV_MEDIA_TYPE,
    'content-disposition': `attachment; filename="${name}-${today}.csv"`,
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
  });
  ctx.status = 200;
  ctx.body = Readable.from(lines);
}
