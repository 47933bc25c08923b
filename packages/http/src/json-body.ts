import { isUtf8 } from 'node:buffer';
import { ServiceError } from '@gatehouse/kit/errors';
import { parse } from 'secure-json-parse';

/** The largest accepted body, in bytes. */
export const BODY_LIMIT = 256 * 1024;

/** The deepest nesting of arrays and objects; MongoDB stores 100 levels. */
const MAX_DEPTH = 64;

/**
 * Parses a request's JSON body; an empty one is undefined. Throws `invalid` for a body that is not JSON or not UTF-8
 * (RFC 8259 §8.1), has a `__proto__`, is nested too deeply, or contains a string that cannot be stored: with a NUL or
 * half of a surrogate pair.
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
      throw new ServiceError('invalid', 'A string contains a NUL character or half of a surrogate pair.');
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

/** Whether a string can be stored: well-formed UTF-16 without NUL. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
