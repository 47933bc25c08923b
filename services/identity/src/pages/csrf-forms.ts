import { createHmac, timingSafeEqual } from 'node:crypto';
import { isStorable } from '@gatehouse/api/http/json-body';
import { readMultipart } from '@gatehouse/api/http/multipart';
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
const MULTIPART = 'multipart/form-data';

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
  /** The field `file` of such a form, empty if none was chosen; undefined, without any check, if it has more than `maxBytes`. */
  readFile(ctx: Context, context: string, maxBytes: number): Promise<Buffer | undefined>;
};

/** @param origin that of our pages */
export function createCsrfForms(keys: KeyList, browser: BrowserCookie, origin: string): CsrfForms {
  const tokenOf = (key: Buffer, ctx: Context, context: string) =>
    createHmac('sha256', key)
      .update(`form ${browser.id(ctx)} ${context}`)
      .digest('base64url');

  function checked(ctx: Context, context: string, values: URLSearchParams): Map<string, string> {
    const fields = new Map<string, string>();
    for (const [name, value] of values) {
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
  }

  return {
    form: (ctx, { context, ...target }) => ({
      ...target,
      csrf: tokenOf(keys[0], ctx, context ?? target.action),
    }),
    async read(ctx, context) {
      requireType(ctx, FORM);
      const body = await readBody(ctx.req, FORM_LIMIT);
      return checked(ctx, context, new URLSearchParams(body.toString('utf8')));
    },
    async readFile(ctx, context, maxBytes) {
      requireType(ctx, MULTIPART);
      const body = await readBody(ctx.req, maxBytes + FORM_LIMIT).catch((error: unknown) => {
        if (!(error instanceof ServiceError) || error.kind !== 'too_large') throw error;
        ctx.set(error.headers);
      });
      if (body === undefined) return undefined;
      const { values, files } = await readMultipart(ctx.get('content-type'), body);
      checked(ctx, context, values);
      const content = files.get('file')?.content ?? Buffer.alloc(0);
      return content.length > maxBytes ? undefined : content;
    },
  };
}

function requireType(ctx: Context, type: string): void {
  if (ctx.is(type) === type) return;
  throw new ServiceError('unsupported_media_type', `The Content-Type must be ${type}.`);
}
