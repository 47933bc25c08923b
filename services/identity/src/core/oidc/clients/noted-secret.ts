import type { Context } from 'koa';
import type { ClientSecret } from '../../applications/application.ts';

const secrets = new WeakMap<object, ClientSecret>();

/** Notes the secret by which the client of a request has authenticated. */
export function noteSecret(ctx: Context, secret: ClientSecret): void {
  secrets.set(ctx.req, secret);
}

/** The secret by which the client of a request has authenticated; undefined for other methods. */
export function notedSecret(ctx: Context): ClientSecret | undefined {
  return secrets.get(ctx.req);
}
