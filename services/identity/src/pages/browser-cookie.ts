import { createHmac, randomBytes } from 'node:crypto';
import type { KeyList } from '@gatehouse/core/sealing';
import type { Context } from 'koa';

/** How many accounts a browser is known to have signed in to; one with a second factor counts twice. */
const MAX_DEVICE_MARKS = 8;
const YEAR_MS = 365 * 86_400_000;

type KnownAccount = { id: string; sign_in_epoch: number };

/** A signed cookie by which a browser is recognised before anybody has signed in. */
export type BrowserCookie = {
  /** The random id of this browser; sets the cookie when there is none. */
  id(ctx: Context): string;
  /**
   * Whether somebody has signed in to the account in this browser since all of its sign-ins ended. With `factor`, only sign-ins with a
   * second factor count.
   */
  isKnownDevice(ctx: Context, account: KnownAccount, factor?: 'second factor'): boolean;
  /** Once for a response: it writes what the request came with, and this. */
  rememberDevice(ctx: Context, account: KnownAccount, factor?: 'second factor'): void;
  /** The id of this browser if somebody has signed in to any account in it. */
  signedInBefore(ctx: Context): string | undefined;
};

/** The keys hide the accounts that a browser has signed in to. */
export function createBrowserCookie(keys: KeyList): BrowserCookie {
  const read = (ctx: Context) => (ctx.cookies.get(nameOf(ctx), { signed: true }) ?? '').split('.');
  /** One for each key. By the id of the account: its names can change, and go to others. */
  const marksOf = (browser: string, { id, sign_in_epoch: epoch }: KnownAccount, factor?: 'second factor') =>
    keys.map((key) =>
      createHmac('sha256', key)
        .update(`device ${browser} ${id} ${epoch}${factor === undefined ? '' : ` ${factor}`}`)
        .digest('base64url')
        .slice(0, 16),
    );

  function write(ctx: Context, id: string, marks: readonly string[]): void {
    ctx.cookies.set(nameOf(ctx), [id, ...marks].join('.'), {
      signed: true,
      httpOnly: true,
      sameSite: 'lax',
      secure: ctx.secure,
      overwrite: true,
      maxAge: YEAR_MS,
    });
  }

  function id(ctx: Context): string {
    const state = ctx.state as { browserId?: string };
    if (state.browserId === undefined) {
      // Read once: with each reading, the cookies library signs a cookie again whose key has been replaced.
      const [known = ''] = read(ctx);
      const isKnown = /^[\w-]{22}$/.test(known);
      state.browserId = isKnown ? known : randomBytes(16).toString('base64url');
      if (!isKnown) write(ctx, state.browserId, []);
    }
    return state.browserId;
  }

  return {
    id,
    isKnownDevice(ctx, account, factor) {
      const marks = marksOf(id(ctx), account, factor);
      return read(ctx)
        .slice(1)
        .some((mark) => marks.includes(mark));
    },
    rememberDevice(ctx, account, factor) {
      const browser = id(ctx);
      const marks = [
        marksOf(browser, account),
        ...(factor === undefined ? [] : [marksOf(browser, account, factor)]),
      ];
      const others = read(ctx)
        .slice(1)
        .filter((other) => !marks.flat().includes(other));
      const own = marks.flatMap((ofKeys) => ofKeys.slice(0, 1));
      write(ctx, browser, [...own, ...others].slice(0, MAX_DEVICE_MARKS));
    },
    signedInBefore: (ctx) => (read(ctx).length > 1 ? id(ctx) : undefined),
  };
}

/** Over HTTPS with the prefix that keeps sibling domains from setting the cookie. */
function nameOf(ctx: Context): string {
  return ctx.secure ? '__Host-gatehouse_browser' : 'gatehouse_browser';
}
