import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { isStorable } from '@gatehouse/api/http/json-body';
import { type FormParts, readMultipart, type SentFile } from '@gatehouse/api/http/multipart';
import { readBody } from '@gatehouse/api/http/request-body';
import { ServiceError } from '@gatehouse/core/errors';
import { deriveKeys, type KeyList } from '@gatehouse/core/sealing';
import { isFromOtherOrigin } from '@gatehouse/web/form-origin';
import type { Context } from 'koa';
import type { Session } from '../sessions/session.ts';

/** More than any of our forms needs, in bytes: an item's value has 64 KiB, and each byte may be sent as three. */
const FORM_LIMIT = 256 * 1024;
const FORM = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data';
/** How many forms without a session are read at a time, since anybody can send them, from as many addresses as they have. */
const MAX_WITHOUT_SESSION = 64;

/** The options of a form that sends more than most: files, and a larger body, which takes longer. */
export type FormOptions = { files?: boolean; maxBytes?: number; tooLarge?: string; seconds?: number };

/** The fields of a submitted form. */
export type Fields = {
  /** Without spaces around it; empty when the field is missing. */
  text(name: string): string;
  /** The same of a field that says what is meant, such as an id. Throws ServiceError when it is empty. */
  required(name: string): string;
  /** Each value of a field that may come several times. */
  all(name: string): string[];
  has(name: string): boolean;
  /** Undefined unless the form has that field. */
  file(name: string): SentFile | undefined;
  sent: SentFields;
  /** Its token, for when it is shown again. */
  token: string;
  /** The same for a form that is sent again as it is, by a second click for example, and for no other. */
  idempotencyKey: string;
  /** A secret of the form, by a name: the same when it is sent again, and known to nobody who has sent it. */
  secret(name: string): string;
};

/** The entries of the form, to be sent again: without the token, passwords and secrets. */
export type SentFields = readonly (readonly [name: string, value: string])[];

/** The form was not sent from a page of ours, or the page is of an earlier session. */
export class CsrfError extends ServiceError {
  /** Undefined unless the form was surely on a page of ours. */
  readonly sent: SentFields | undefined;

  constructor(sent?: SentFields) {
    super('forbidden', 'The form was not sent from a current page of ours.');
    this.sent = sent;
  }
}

/**
 * Protects forms from other sites by a token that is bound to the session. Each page has one of its own, so that a form that
 * is sent twice differs from one that is filled in twice.
 */
export function createForms(masterKeys: KeyList, publicUrl: string) {
  const keys = deriveKeys(masterKeys, 'dashboard forms');
  const [secretsKey] = deriveKeys(masterKeys, 'dashboard form secrets');
  const tokenOf = (key: Buffer, session: Session, nonce: string) =>
    `${nonce}.${createHmac('sha256', key).update(`${session.id}.${nonce}`).digest('base64url')}`;

  let withoutSession = 0;

  return {
    /** A hidden token for the forms of a page of this session. */
    token: (session: Session) => tokenOf(keys[0], session, randomBytes(16).toString('base64url')),
    /** Throws CsrfError unless the form has the token of the session and was on a page of ours, or if there is no session. */
    async read(
      ctx: Context,
      session: Session | undefined,
      { files: takesFiles = false, maxBytes = FORM_LIMIT, tooLarge, seconds }: FormOptions = {},
    ): Promise<Fields> {
      // Browsers say so, and no site can make them say it of its own forms (Fetch Metadata §2.3).
      const isFromElsewhere = isFromOtherOrigin(ctx, publicUrl);
      const isOurs = ctx.get('sec-fetch-site') === 'same-origin' && !isFromElsewhere;
      const type = takesFiles ? MULTIPART : FORM;
      // The content of a file is not sent again.
      const isRead = isOurs && !takesFiles && withoutSession < MAX_WITHOUT_SESSION;
      if (session === undefined && !isRead) throw new CsrfError();
      if (ctx.is(type) !== type) {
        throw new ServiceError('unsupported_media_type', `The Content-Type must be ${type}.`);
      }
      withoutSession += session === undefined ? 1 : 0;
      const body = await readBody(ctx.req, maxBytes, seconds)
        .catch((error: unknown) => {
          const isTooLarge = error instanceof ServiceError && error.kind === 'too_large';
          throw isTooLarge && tooLarge !== undefined
            ? new ServiceError('too_large', tooLarge, { headers: error.headers })
            : error;
        })
        .finally(() => {
          withoutSession -= session === undefined ? 1 : 0;
        });
      const { values, files }: FormParts = takesFiles
        ? await readMultipart(ctx.get('content-type'), body)
        : { values: new URLSearchParams(body.toString('utf8')), files: new Map() };
      const token = values.get('csrf') ?? '';
      const given = Buffer.from(token);
      const [nonce = ''] = token.split('.', 1);
      const isOfSession = (key: Buffer) => {
        if (session === undefined) return false;
        const expected = Buffer.from(tokenOf(key, session, nonce));
        return given.length === expected.length && timingSafeEqual(given, expected);
      };
      const sent = [...values].filter(([name]) => !/^csrf$|password|secret/.test(name));
      if (!keys.some(isOfSession) || isFromElsewhere) {
        throw new CsrfError(isOurs && !takesFiles ? sent : undefined);
      }
      if (![...values.values()].every(isStorable)) {
        throw new ServiceError('invalid', 'A field contains a character that is not allowed in text.');
      }
      const text = (name: string) => (values.get(name) ?? '').trim();
      const idempotencyKey = createHash('sha256').update(body).digest('base64url');
      return {
        text,
        required(name) {
          const value = text(name);
          if (value === '') throw new ServiceError('invalid', `The form lacks the field ${name}.`);
          return value;
        },
        all: (name) => values.getAll(name),
        has: (name) => values.has(name),
        file: (name) => files.get(name),
        sent,
        token,
        idempotencyKey,
        secret: (name) =>
          createHmac('sha256', secretsKey).update(`${idempotencyKey} ${name}`).digest('base64url'),
      };
    },
  };
}

export type Forms = ReturnType<typeof createForms>;
