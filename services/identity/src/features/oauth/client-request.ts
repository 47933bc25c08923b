import { IncomingMessage } from 'node:http';
import { isStorable, parseJsonBody } from '@gatehouse/api/http/json-body';
import { readBody } from '@gatehouse/api/http/request-body';
import { ServiceError } from '@gatehouse/core/errors';
import { shareRequestInfo } from '@gatehouse/server/requests';
import type { Context, Middleware } from 'koa';
import { rememberRequestedPath } from '../../core/oidc/endpoint-aliases.ts';

const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPE = 'application/json';

/** More than any token request needs, in bytes. oidc-provider accepts forms up to 56 KiB, and JSON grows as a form. */
const LIMIT = 16 * 1024;

/** A string in JSON, and the colon that makes it a name. */
const JSON_STRING = /"(?:[^"\\]|\\.)*"\s*(:?)/g;

export type ClientRequestOptions = {
  accepts: readonly ('json' | 'form')[];
  /** Where oidc-provider listens. */
  path: string;
  /** Whether errors are pages. By default they are JSON whatever the caller accepts (RFC 6749 §5.2). */
  isPage?: boolean;
  /** May change the request and the form before they are used. */
  prepare?(ctx: Context, form: URLSearchParams): void | Promise<void>;
  /** May change the form, or answer the request; `send` passes it on. */
  around?(ctx: Context, form: URLSearchParams, send: () => Promise<void>): Promise<void>;
};

/**
 * Reads a client's request, such as a token request, in any of the accepted content types, and passes it on to
 * oidc-provider as the form of RFC 6749 §4.
 */
export function clientRequest(options: ClientRequestOptions): Middleware {
  const { accepts, path, isPage = false, prepare, around } = options;
  return async (ctx, next) => {
    const form = await readForm(ctx, accepts);
    await prepare?.(ctx, form);
    const send = async () => {
      rememberRequestedPath(ctx);
      replaceRequest(ctx, form.toString(), { path, isPage });
      await next();
    };
    await (around === undefined ? send() : around(ctx, form, send));
  };
}

/** Replaces the request by one whose body can be read again: oidc-provider reads bodies itself. */
function replaceRequest(
  ctx: Context,
  text: string,
  { path, isPage }: { path: string; isPage: boolean },
): void {
  const inner = new IncomingMessage(ctx.req.socket);
  shareRequestInfo(ctx.req, inner);
  inner.method = 'POST';
  inner.url = path;
  inner.headers = {
    ...ctx.req.headers,
    'content-type': FORM,
    'content-length': String(Buffer.byteLength(text)),
    ...(isPage ? {} : { accept: JSON_TYPE }),
  };
  delete inner.headers['transfer-encoding'];
  // Otherwise Node would take the end of this message for an abort, and destroy the socket.
  inner.complete = true;
  inner.push(text);
  inner.push(null);
  ctx.req = inner;
  ctx.request.req = inner;
  ctx.response.req = inner;
}

async function readForm(ctx: Context, accepted: readonly ('json' | 'form')[]): Promise<URLSearchParams> {
  const json = accepted.includes('json') && ctx.is(JSON_TYPE) === JSON_TYPE;
  const form = accepted.includes('form') && ctx.is(FORM) === FORM;
  if (!json && !form) {
    const types = accepted.map((name) => (name === 'json' ? JSON_TYPE : FORM)).join(' or ');
    const elsewhere = accepted.includes('json') ? '' : '; POST /oauth/token takes application/json';
    throw new ServiceError('invalid', `The Content-Type must be ${types}${elsewhere}.`);
  }
  const body = await readBody(ctx.req, LIMIT);
  return json ? formOfJson(body) : formOfText(body.toString('utf8'));
}

function formOfText(text: string): URLSearchParams {
  if (text.trimStart().startsWith('{')) {
    throw new ServiceError(
      'invalid',
      'The body looks like JSON: send it with Content-Type: application/json.',
    );
  }
  const form = new URLSearchParams(text);
  for (const [name, value] of form) refuseUnstorable(name, value);
  return form;
}

function formOfJson(body: Buffer): URLSearchParams {
  const value = parseJsonBody(body);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ServiceError('invalid', 'The body must be a JSON object.');
  }
  const form = new URLSearchParams();
  for (const [name, parameter] of Object.entries(value)) {
    // As with a form, a parameter without a value counts as absent (RFC 6749 §3.2).
    if (parameter === null || parameter === undefined) continue;
    if (typeof parameter !== 'string') throw new ServiceError('invalid', 'Every parameter must be a string.');
    refuseUnstorable(name, parameter);
    form.append(name, parameter);
  }
  // Parsing keeps the last of several; RFC 6749 §3.2 forbids repetition.
  const names = [...body.toString('utf8').matchAll(JSON_STRING)].filter(([, colon]) => colon === ':');
  if (names.length > Object.keys(value).length) throw new ServiceError('invalid', 'A parameter is repeated.');
  return form;
}

function refuseUnstorable(name: string, value: string): void {
  if (!isStorable(name) || !isStorable(value)) {
    throw new ServiceError('invalid', 'A parameter contains a NUL character or half of a surrogate pair.');
  }
}
