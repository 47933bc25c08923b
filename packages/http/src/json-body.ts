import { isUtf8 } from 'node:buffer';
import { ServiceError } from '@gatehouse/kit/errors';
import { parseTree } from 'jsonc-parser';
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
  refuseDepth(value, 1);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const { [verbatim]: member, ...others } = value as Record<string, unknown>;
  parsed(() => scan(others, REFUSE_PROTOTYPES));
  refuseUnstorable(others, 1);
  return member === undefined ? others : { ...others, [verbatim]: memberText(json, verbatim) };
}

function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new ServiceError('invalid', 'The body is not valid JSON.', { cause: error });
  }
}

/** The text of a member of the JSON object in `text`; of several members with this name, the last one counts. */
function memberText(text: string, name: string): JsonText {
  const members = parseTree(text)?.children ?? [];
  const value = members.findLast(({ children }) => children?.[0]?.value === name)?.children?.[1];
  if (value === undefined) throw new Error(`there is no member ${name}`);
  return new JsonText(text.slice(value.offset, value.offset + value.length));
}

function refuseUnstorable(value: unknown, depth: number): void {
  if (typeof value === 'string') {
    if (!isStorable(value)) {
      throw new ServiceError('invalid', 'A string contains a NUL character or half of a surrogate pair.');
    }
  } else {
    for (const [key, inner] of entriesOf(value, depth)) {
      refuseUnstorable(key, depth);
      refuseUnstorable(inner, depth + 1);
    }
  }
}

function refuseDepth(value: unknown, depth: number): void {
  for (const [, inner] of entriesOf(value, depth)) refuseDepth(inner, depth + 1);
}

function entriesOf(value: unknown, depth: number): [string, unknown][] {
  if (typeof value !== 'object' || value === null) return [];
  if (depth > MAX_DEPTH) {
    throw new ServiceError('invalid', `The body is nested more than ${MAX_DEPTH} levels deep.`);
  }
  return Object.entries(value);
}

/** Whether a string can be stored: well-formed UTF-16 without NUL. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
