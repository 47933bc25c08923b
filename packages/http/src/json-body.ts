import { isUtf8 } from 'node:buffer';
import { ServiceError } from '@gatehouse/kit/errors';
import { parseTree } from 'jsonc-parser';
import { parse } from 'secure-json-parse';

/** The largest body taken, in bytes. */
export const BODY_LIMIT = 256 * 1024;

/** How deep lists and objects may stand in each other: MongoDB stores 100 levels. */
const MAX_DEPTH = 64;

/**
 * A JSON value as the text that was sent, for whoever keeps it as it is: a JavaScript value would lose digits of numbers
 * and the order of keys.
 */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * A request's JSON body. Throws `invalid` for what is not JSON, not UTF-8 (RFC 8259 §8.1), carries a
 * `__proto__`, is nested too deeply, or holds a text that cannot be stored: with a NUL or half of a surrogate
 * pair. An empty body is undefined. The member of an object that is named by `verbatim` becomes a JsonText, which may hold
 * any text and any keys.
 */
export function parseJsonBody(body: Buffer, verbatim?: string): unknown {
  if (body.length === 0) return undefined;
  if (!isUtf8(body)) throw new ServiceError('invalid', 'The body is not valid UTF-8.');
  const text = body.toString('utf8');
  if (verbatim === undefined) {
    const value = parsed(() => parse(text, null, { protoAction: 'error', constructorAction: 'error' }));
    refuseUnstorable(value, 1);
    return value;
  }
  // RFC 8259 §8.1: a parser may ignore a byte order mark.
  const json = text.replace(/^\ufeff/, '');
  const value = parsed(() => JSON.parse(json) as unknown);
  refuseDepth(value, 1);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const { [verbatim]: kept, ...others } = value as Record<string, unknown>;
  refuseUnstorable(others, 1);
  return kept === undefined ? others : { ...others, [verbatim]: memberText(json, verbatim) };
}

function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new ServiceError('invalid', 'The body is not valid JSON.', { cause: error });
  }
}

/** The text of a member of the object that is written in `text`; of several with one name, the last counts. */
function memberText(text: string, name: string): JsonText {
  const members = parseTree(text)?.children ?? [];
  const value = members.findLast(({ children }) => children?.[0]?.value === name)?.children?.[1];
  if (value === undefined) throw new Error(`there is no member ${name}`);
  return new JsonText(text.slice(value.offset, value.offset + value.length));
}

function refuseUnstorable(value: unknown, depth: number): void {
  if (typeof value === 'string') {
    if (!isStorable(value)) {
      throw new ServiceError('invalid', 'A text holds a NUL character or half of a surrogate pair.');
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

/** Whether a text survives storage: well-formed UTF-16 without NUL. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
