import type { Context } from 'koa';

/** A cookie of ours: its value, or undefined to remove it; `maxAge` is in seconds. */
export type Cookies = {
  get(ctx: Context, name: CookieName): string | undefined;
  set(ctx: Context, name: CookieName, value: string, maxAge: number): void;
  remove(ctx: Context, name: CookieName): void;
  /** The cookies of pending sign-ins; the oldest come first, as browsers send them (RFC 6265 §5.4). */
  signIns(ctx: Context): { name: CookieName; value: string }[];
};
/** Each sign-in has a cookie of its own, so that several tabs may sign in at once. */
export type CookieName = 'session' | `sign_in_${string}`;

/** Cookies that scripts cannot read and other sites do not cause to be sent with forms. */
export function createCookies(publicUrl: string): Cookies {
  const secure = publicUrl.startsWith('https:');
  // Over HTTPS with the prefix that keeps sibling domains from setting the cookie (RFC 6265bis §4.1.3.2).
  const nameOf = (name: CookieName) => `${secure ? '__Host-' : ''}gatehouse_dashboard_${name}`;
  const signIn = new RegExp(`(?<=^|; )${nameOf('sign_in_')}([\\w-]+)=([^;]*)`, 'g');
  const write = (ctx: Context, name: CookieName, value: string, maxAge: number) =>
    ctx.append(
      'set-cookie',
      `${nameOf(name)}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`,
    );
  return {
    get: (ctx, name) => ctx.cookies.get(nameOf(name), { signed: false }),
    set: write,
    remove: (ctx, name) => write(ctx, name, '', 0),
    signIns: (ctx) =>
      [...ctx.get('cookie').matchAll(signIn)].map(([, id = '', value = '']) => ({
        name: `sign_in_${id}`,
        value,
      })),
  };
}
