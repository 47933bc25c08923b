import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { isStorable } from '@gatehouse/http/json-body';
import { ServiceError } from '@gatehouse/kit/errors';
import { foldedKey } from '@gatehouse/kit/folded-key';
import type { Context, Middleware } from 'koa';
import { readBytes } from '../json-request.ts';

/** More than any of our forms needs, in bytes. */
const FORM_LIMIT = 16 * 1024;
/** Over HTTPS with the prefix by which browsers keep neighbours below the same domain from setting it. */
const browserCookie = (ctx: Context) => (ctx.secure ? '__Host-gatehouse_browser' : 'gatehouse_browser');
const YEAR_MS = 365 * 86_400_000;

/** A form that was not sent from our own page, or from one that is out of date. */
export class ForeignForm extends ServiceError {
  constructor() {
    super('forbidden', 'The form was not sent from a current page of ours.');
  }
}

export type Web = {
  /** Answers with a page. `formTargets` are the origins or schemes that its form may lead to beside ourselves. */
  page(ctx: Context, html: string, options?: { status?: number; formTargets?: readonly string[] }): void;
  /** The hidden token for a form in this context, such as an interaction. Sets a cookie at need. */
  csrf(ctx: Context, context: string): string;
  /** The fields of a form that was sent, each once; throws ForeignForm unless its token fits the context. */
  readForm(ctx: Context, context: string): Promise<Map<string, string>>;
  /** Whether somebody has signed in to this account in this browser before. */
  isKnownDevice(ctx: Context, login: string): boolean;
  rememberDevice(ctx: Context, login: string): void;
};

/**
 * What all pages have in common. The forms are safe from other sites by a token that is bound to a cookie of the
 * browser and to what the form is about.
 */
export function createWeb(key: Buffer): Web {
  const mac = (text: string) => createHmac('sha256', key).update(text).digest('base64url');

  /** The random name of this browser; a new one is set when there is none. */
  function browserOf(ctx: Context): string {
    const known = ctx.cookies.get(browserCookie(ctx), { signed: true });
    const [id] = known?.split('.') ?? [];
    if (id !== undefined && /^[\w-]{22}$/.test(id)) return id;
    const pending = (ctx.state as { browser?: string }).browser;
    if (pending !== undefined) return pending;
    const fresh = randomBytes(16).toString('base64url');
    ctx.state.browser = fresh;
    setBrowser(ctx, fresh, []);
    return fresh;
  }

  function setBrowser(ctx: Context, id: string, devices: readonly string[]): void {
    ctx.cookies.set(browserCookie(ctx), [id, ...devices].join('.'), {
      signed: true,
      httpOnly: true,
      sameSite: 'lax',
      secure: ctx.secure,
      overwrite: true,
      maxAge: YEAR_MS,
    });
  }

  const devicesOf = (ctx: Context) =>
    (ctx.cookies.get(browserCookie(ctx), { signed: true }) ?? '').split('.').slice(1);
  const deviceMark = (browser: string, login: string) =>
    mac(`device ${browser} ${foldedKey(login)}`).slice(0, 16);
  const tokenFor = (browser: string, context: string) => mac(`form ${browser} ${context}`);

  return {
    page(ctx, html, { status = 200, formTargets = [] } = {}) {
      ctx.status = status;
      ctx.type = 'text/html; charset=utf-8';
      setPageHeaders(ctx, formTargets);
      ctx.body = html;
    },
    csrf: (ctx, context) => tokenFor(browserOf(ctx), context),
    async readForm(ctx, context) {
      if (ctx.is('application/x-www-form-urlencoded') !== 'application/x-www-form-urlencoded') {
        throw new ServiceError('unsupported_media_type', 'The form must be sent as a form.');
      }
      const fields = new Map<string, string>();
      for (const [name, value] of new URLSearchParams((await readBytes(ctx, FORM_LIMIT)).toString('utf8'))) {
        if (fields.has(name)) throw new ServiceError('invalid', 'A field of the form comes twice.');
        if (!isStorable(value))
          throw new ServiceError('invalid', 'A field holds a character that no text has.');
        fields.set(name, value);
      }
      const expected = Buffer.from(tokenFor(browserOf(ctx), context));
      const given = Buffer.from(fields.get('csrf') ?? '');
      const fits = given.length === expected.length && timingSafeEqual(given, expected);
      if (!fits || ctx.get('sec-fetch-site') === 'cross-site') throw new ForeignForm();
      return fields;
    },
    isKnownDevice: (ctx, login) => devicesOf(ctx).includes(deviceMark(browserOf(ctx), login)),
    rememberDevice(ctx, login) {
      const browser = browserOf(ctx);
      const mark = deviceMark(browser, login);
      setBrowser(ctx, browser, [mark, ...devicesOf(ctx).filter((other) => other !== mark)].slice(0, 5));
    },
  };
}

/** The headers of every page: nothing but our own stylesheet, in no frame, never kept. */
export function setPageHeaders(ctx: Context, formTargets: readonly string[] = []): void {
  ctx.set({
    'content-security-policy': [
      "default-src 'none'",
      "style-src 'self'",
      "img-src 'self' data:",
      // Browsers check redirects after a form, too, and ours end at the application.
      `form-action 'self' ${formTargets.join(' ')}`.trimEnd(),
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  });
}

/**
 * The same for the pages that oidc-provider writes: forms that a script of theirs sends at once, to an application
 * or to us. It adds the script's hash to `script-src`.
 */
export const providerPageHeaders: Middleware = async (ctx, next) => {
  setPageHeaders(ctx);
  ctx.set(
    'content-security-policy',
    "default-src 'none'; script-src; base-uri 'none'; frame-ancestors 'none'",
  );
  await next();
};

/** Where a redirect URI leads, as a source for a policy: its origin, or the scheme of a native application. */
export function formTarget(redirectUri: string | undefined): string[] {
  const url = redirectUri === undefined ? null : URL.parse(redirectUri);
  if (url === null) return [];
  return [url.origin === 'null' ? url.protocol : url.origin];
}
