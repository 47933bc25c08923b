import { isUtf8 } from 'node:buffer';
import { ServiceError } from '@gatehouse/kit/errors';
import { parse } from 'secure-json-parse';

/** The largest body taken, in bytes. */
export const BODY_LIMIT = 256 * 1024;

/** How deep lists and objects may stand in each other: MongoDB stores 100 levels. */
const MAX_DEPTH = 64;

/**
 * A request's JSON body. Throws `invalid` for what is not JSON, not UTF-8 (RFC 8259 §8.1), carries a
 * `__proto__`, is nested too deeply, or holds a text that cannot be stored: with a NUL or half of a surrogate
 * pair. An empty body is undefined.
 */
export function parseJsonBody(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  if (!isUtf8(body)) throw new ServiceError('invalid', 'The body is not valid UTF-8.');
  const text = body.toString('utf8');
  let value: unknown;
  try {
    value = parse(text, null, { protoAction: 'error', constructorAction: 'error' });
  } catch (error) {
    throw new ServiceError('invalid', 'The body is not valid JSON.', { cause: error });
  }
  refuseUnstorable(value, 1);
  return value;
}

function refuseUnstorable(value: unknown, depth: number): void {
  if (typeof value === 'string') {
    if (!isStorable(value)) {
      throw new ServiceError('invalid', 'A text holds a NUL character or half of a surrogate pair.');
    }
  } else if (typeof value === 'object' && value !== null) {
    if (depth > MAX_DEPTH) {
      throw new ServiceError('invalid', `The body is nested more than ${MAX_DEPTH} levels deep.`);
    }
    for (const [key, inner] of Object.entries(value)) {
      refuseUnstorable(key, depth);
      refuseUnstorable(inner, depth + 1);
    }
  }
}

/** Whether a text survives storage: well-formed UTF-16 without NUL. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
