import { IncomingMessage } from 'node:http';
import { isStorable, parseJsonBody } from '@gatehouse/http/json-body';
import { discardBody } from '@gatehouse/kit/discard-body';
import { ServiceError } from '@gatehouse/kit/errors';
import { shareRequestInfo } from '@gatehouse/kit/requests';
import type { Context, Middleware } from 'koa';
import readBody from 'raw-body';

const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPE = 'application/json';

/** More than any token request needs, in bytes; oidc-provider takes no form above 56 KiB, and JSON grows as one. */
const LIMIT = 16 * 1024;

/** Where oidc-provider listens for token requests. */
const TOKEN_PATH = '/oauth2/token';

/**
 * Reads a token request and hands it on to oidc-provider as the form that RFC 6749 §4 knows, whichever of the
 * accepted content types it came in.
 */
export function tokenRequest(accepted: readonly ('json' | 'form')[]): Middleware {
  return async (ctx, next) => {
    const form = await readForm(ctx, accepted);
    // A request that can be read once more: oidc-provider reads bodies itself, and warns of other ways.
    const inner = new IncomingMessage(ctx.req.socket);
    shareRequestInfo(ctx.req, inner);
    const text = form.toString();
    inner.method = 'POST';
    inner.url = TOKEN_PATH;
    inner.headers = {
      ...ctx.req.headers,
      'content-type': FORM,
      'content-length': String(Buffer.byteLength(text)),
      // Errors are JSON whatever the caller would accept (RFC 6749 §5.2).
      accept: JSON_TYPE,
    };
    delete inner.headers['transfer-encoding'];
    // Else the end of this message would count as an abort, and take the socket with it.
    inner.complete = true;
    inner.push(text);
    inner.push(null);
    ctx.req = inner;
    ctx.request.req = inner;
    ctx.response.req = inner;
    await next();
  };
}

async function readForm(ctx: Context, accepted: readonly ('json' | 'form')[]): Promise<URLSearchParams> {
  const json = accepted.includes('json') && ctx.is(JSON_TYPE) === JSON_TYPE;
  const form = accepted.includes('form') && ctx.is(FORM) === FORM;
  if (!json && !form) {
    const types = accepted.map((name) => (name === 'json' ? JSON_TYPE : FORM)).join(' or ');
    const elsewhere = accepted.includes('json') ? '' : '; POST /oauth/token takes application/json';
    throw new ServiceError('invalid', `The Content-Type must be ${types}${elsewhere}.`);
  }
  const body = await readBody(ctx.req, { length: ctx.get('content-length') || null, limit: LIMIT }).catch(
    async (error: { type?: string }) => {
      if (error.type === 'entity.too.large') {
        await discardBody(ctx.req);
        ctx.set('connection', 'close');
        throw new ServiceError('too_large', `The body is larger than ${LIMIT} bytes.`);
      }
      throw new ServiceError('invalid', 'The body could not be read.', { cause: error });
    },
  );
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
  return form;
}

function refuseUnstorable(name: string, value: string): void {
  if (!isStorable(name) || !isStorable(value)) {
    throw new ServiceError('invalid', 'A parameter holds a NUL character or half of a surrogate pair.');
  }
}
