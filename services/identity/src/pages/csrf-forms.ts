import { createHmac, timingSafeEqual } from 'node:crypto';
import { isStorable } from '@gatehouse/api/http/json-body';
import { readBody } from '@gatehouse/api/http/request-body';
import { ServiceError } from '@gatehouse/core/errors';
import type { KeyList } from '@gatehouse/core/sealing';
import type { PageForm } from '@gatehouse/web/form';
import { isFromOtherOrigin } from '@gatehouse/web/form-origin';
import type { Context } from 'koa';
import type { BrowserCookie } from './browser-cookie.ts';

/** More than any of our forms needs, in bytes. */
const FORM_LIMIT = 16 * 1024;
const FORM = 'application/x-www-form-urlencoded';

/** The form was not sent from a page of ours, or the page was out of date. */
export class CsrfError extends ServiceError {
  constructor() {
    super('forbidden', 'The form was not sent from a current page of ours.');
  }
}

/** Protects forms from other sites by a token that is bound to the browser and to what the form is about. */
export type CsrfForms = {
  /** A form in this context, such as an interaction; that of its path by default. May set the browser's cookie. */
  form(ctx: Context, target: Omit<PageForm, 'csrf'> & { context?: string }): PageForm;
  /** The fields of a submitted form. Throws CsrfError unless its token fits the context and it was on a page of ours. */
  read(ctx: Context, context: string): Promise<Map<string, string>>;
};

/** @param origin that of our pages */
export function createCsrfForms(keys: KeyList, browser: BrowserCookie, origin: string): CsrfForms {
  const tokenOf = (key: Buffer, ctx: Context, context: string) =>
    createHmac('sha256', key)
      .update(`form ${browser.id(ctx)} ${context}`)
      .digest('base64url');
  return {
    form: (ctx, { context, ...target }) => ({
      ...target,
      csrf: tokenOf(keys[0], ctx, context ?? target.action),
    }),
    async read(ctx, context) {
      if (ctx.is(FORM) !== FORM) {
        throw new ServiceError('unsupported_media_type', `The Content-Type must be ${FORM}.`);
      }
      const fields = new Map<string, string>();
      const body = (await readBody(ctx.req, FORM_LIMIT)).toString('utf8');
      for (const [name, value] of new URLSearchParams(body)) {
        if (fields.has(name)) throw new ServiceError('invalid', 'The form contains a field twice.');
        if (!isStorable(value)) {
          throw new ServiceError('invalid', 'A field contains a character that is not allowed in text.');
        }
        fields.set(name, value);
      }
      const given = Buffer.from(fields.get('csrf') ?? '');
      const fits = keys.some((key) => {
        const expected = Buffer.from(tokenOf(key, ctx, context));
        return given.length === expected.length && timingSafeEqual(given, expected);
      });
      if (!fits || isFromOtherOrigin(ctx, origin)) throw new CsrfError();
      return fields;
    },
  };
}
