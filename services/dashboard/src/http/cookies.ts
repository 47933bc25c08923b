import type { Context } from 'koa';

/** A cookie of ours: its value, or undefined to remove it; `maxAge` is in seconds. */
export type Cookies = {
  get(ctx: Context, name: CookieName): string | undefined;
  set(ctx: Context, name: CookieName, value: string, maxAge: number): void;
  remove(ctx: Context, name: CookieName): void;
};
export type CookieName = 'session' | 'sign_in';

/** Cookies that scripts cannot read and other sites do not cause to be sent with forms. */
export function createCookies(publicUrl: string): Cookies {
  const secure = publicUrl.startsWith('https:');
  // Over HTTPS with the prefix that keeps sibling domains from setting the cookie (RFC 6265bis §4.1.3.2).
  const nameOf = (name: CookieName) => `${secure ? '__Host-' : ''}gatehouse_dashboard_${name}`;
  const write = (ctx: Context, name: CookieName, value: string, maxAge: number) =>
    ctx.append(
      'set-cookie',
      `${nameOf(name)}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`,
    );
  return {
    get: (ctx, name) => ctx.cookies.get(nameOf(name), { signed: false }),
    set: write,
    remove: (ctx, name) => write(ctx, name, '', 0),
  };
}
