import { isUtf8 } from 'node:buffer';
import { ServiceError } from '@gatehouse/core/errors';
import { parse, scan } from 'secure-json-parse';

/** The largest accepted body, in bytes. */
export const BODY_LIMIT = 256 * 1024;

/** The deepest nesting of arrays and objects; MongoDB stores 100 levels. */
const MAX_DEPTH = 64;

const REFUSE_PROTOTYPES = { protoAction: 'error', constructorAction: 'error' } as const;

/**
 * A JSON value as the text that was sent, so that it can be stored unchanged: a JavaScript value would lose the digits of
 * large numbers and the order of keys.
 */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Parses a request's JSON body; an empty one is undefined. Throws `invalid` for a body that is not JSON or not UTF-8
 * (RFC 8259 §8.1), has a `__proto__`, is nested too deeply, or contains a string that cannot be stored: with a NUL or
 * half of a surrogate pair. The object's member with the name `verbatim` becomes a JsonText, which may contain any
 * strings and any keys.
 */
export function parseJsonBody(body: Buffer, verbatim?: string): unknown {
  if (body.length === 0) return undefined;
  if (!isUtf8(body)) throw new ServiceError('invalid', 'The body is not valid UTF-8.');
  const text = body.toString('utf8');
  if (verbatim === undefined) {
    const value = parsed(() => parse(text, null, REFUSE_PROTOTYPES));
    refuseUnstorable(value, 1);
    return value;
  }
  // RFC 8259 §8.1: a parser may ignore a byte order mark.
  const json = text.replace(/^\ufeff/, '');
  const value = parsed(() => JSON.parse(json) as unknown);
  const kept = lastMember(json, verbatim);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const { [verbatim]: _, ...others } = value as Record<string, unknown>;
  parsed(() => scan(others, REFUSE_PROTOTYPES));
  refuseUnstorable(others, 1);
  return kept === undefined ? others : { ...others, [verbatim]: kept };
}

function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new ServiceError('invalid', 'The body is not valid JSON.', { cause: error });
  }
}

/**
 * The text of the last member with this name of the object in `text`, which is valid JSON. It is found in the text and not in the parsed
 * value, where a repeated name hides its earlier values. Throws `invalid` for deep nesting.
 */
function lastMember(text: string, name: string): JsonText | undefined {
  let depth = 0;
  let string = '';
  let key: unknown;
  let begin = 0;
  let member: JsonText | undefined;
  for (let i = 0; i < text.length; i += 1) {
    const character = text[i];
    if (character === '"') {
      const end = endOfString(text, i);
      if (depth === 1) string = text.slice(i, end + 1);
      i = end;
    } else if (character === '{' || character === '[') {
      depth += 1;
      if (depth > MAX_DEPTH) throw tooDeep();
    } else if (depth === 1 && character === ':') {
      key = JSON.parse(string);
      begin = i + 1;
    } else if (depth === 1 && (character === ',' || character === '}')) {
      if (key === name) member = new JsonText(text.slice(begin, i).trim());
      key = undefined;
    }
    if (character === '}' || character === ']') depth -= 1;
  }
  return member;
}

/** The place of the quotation mark that ends the string that begins at `begin`. */
function endOfString(text: string, begin: number): number {
  let i = begin + 1;
  while (text[i] !== '"') i += text[i] === '\\' ? 2 : 1;
  return i;
}

function refuseUnstorable(value: unknown, depth: number): void {
  if (typeof value === 'string') {
    if (!isStorable(value)) {
      throw new ServiceError('invalid', 'A string contains a NUL character or half of a surrogate pair.');
    }
  } else if (typeof value === 'object' && value !== null) {
    if (depth > MAX_DEPTH) throw tooDeep();
    for (const [key, inner] of Object.entries(value)) {
      refuseUnstorable(key, depth);
      refuseUnstorable(inner, depth + 1);
    }
  }
}

function tooDeep(): ServiceError {
  return new ServiceError('invalid', `The body is nested more than ${MAX_DEPTH} levels deep.`);
}

/** Whether a string can be stored: well-formed UTF-16 without NUL. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
