import { createHmac, timingSafeEqual } from 'node:crypto';
import { isStorable } from '@gatehouse/http/json-body';
import { readBody } from '@gatehouse/http/request-body';
import { ServiceError } from '@gatehouse/kit/errors';
import { deriveKeys, type KeyList } from '@gatehouse/kit/sealing';
import type { Context } from 'koa';
import type { Session } from '../sessions/session.ts';

/** More than any of our forms needs, in bytes: an item's value has 64 KiB, and each byte may be sent as three. */
const FORM_LIMIT = 256 * 1024;
const FORM = 'application/x-www-form-urlencoded';

/** The fields of a submitted form. */
export type Fields = {
  /** Without spaces around it; empty when the field is missing. */
  text(name: string): string;
  /** Each value of a field that may come several times. */
  all(name: string): string[];
  has(name: string): boolean;
};

/** The form was not sent from a page of ours, or the page is of an earlier session. */
export class CsrfError extends ServiceError {
  constructor() {
    super('forbidden', 'The form was not sent from a current page of ours.');
  }
}

/** Protects forms from other sites by a token that is bound to the session. */
export function createForms(masterKeys: KeyList) {
  const keys = deriveKeys(masterKeys, 'dashboard forms');
  const tokenOf = (key: Buffer, session: Session) =>
    createHmac('sha256', key).update(session.id).digest('base64url');

  return {
    /** The hidden token for the forms of a session. */
    token: (session: Session) => tokenOf(keys[0], session),
    /** Throws CsrfError unless the form has the token of the session. */
    async read(ctx: Context, session: Session): Promise<Fields> {
      if (ctx.is(FORM) !== FORM) {
        throw new ServiceError('unsupported_media_type', `The Content-Type must be ${FORM}.`);
      }
      const values = new URLSearchParams((await readBody(ctx.req, FORM_LIMIT)).toString('utf8'));
      const given = Buffer.from(values.get('csrf') ?? '');
      const fits = keys.some((key) => {
        const expected = Buffer.from(tokenOf(key, session));
        return given.length === expected.length && timingSafeEqual(given, expected);
      });
      if (!fits || ctx.get('sec-fetch-site') === 'cross-site') throw new CsrfError();
      if (![...values.values()].every(isStorable)) {
        throw new ServiceError('invalid', 'A field contains a character that is not allowed in text.');
      }
      return {
        text: (name) => (values.get(name) ?? '').trim(),
        all: (name) => values.getAll(name),
        has: (name) => values.has(name),
      };
    },
  };
}

export type Forms = ReturnType<typeof createForms>;
