import { hash } from 'node:crypto';
import type { ListQuery, Position } from '@gatehouse/kit/list-query';

/** A place in a list from which a page goes on, as it travels between answers and requests. */
export type Cursor = {
  position: Position;
  direction: 'next' | 'previous';
  /** Whether the row at the position itself belongs to the page. */
  inclusive: boolean;
  /** The number of the page, from 1; informational. */
  page: number;
  /** Of the list that the cursor belongs to (see listHash). */
  hash: string;
  /** Rows of the whole list, when they were counted on the way here. */
  total?: number;
  /** The dialect of the list that wrote it, where several share a path. */
  dialect?: string;
};

/**
 * In characters. The longest sort key is an address whose every character folds to eighteen; a request line with
 * this fits in what Node takes of a header.
 */
const MAX_LENGTH = 12_000;
const MAX_ID_LENGTH = 256;
const MAX_DIALECT_LENGTH = 32;
const MAX_PAGE = 1_000_000_000;

/** Direction and inclusiveness, by their place. */
const MODES = ['next', 'next inclusive', 'previous', 'previous inclusive'];

/** Tells lists apart by their conditions, in whatever order, and their sort. */
export function listHash({ conditions, sort }: ListQuery): string {
  const parts = conditions.map(({ field, operator, values }) =>
    JSON.stringify([field, operator, values.map((value) => JSON.stringify(value)).sort()]),
  );
  const text = JSON.stringify([sort.field, sort.descending, parts.sort()]);
  return hash('sha256', text, 'base64url').slice(0, 16);
}

/** A cursor as text that needs no escaping in a URL. Opaque to clients, and no secret. */
export function encodeCursor({ position, direction, inclusive, page, hash, total, dialect }: Cursor): string {
  const mode = MODES.indexOf(inclusive ? `${direction} inclusive` : direction);
  const parts = [position.value, position.id, mode, Math.min(page, MAX_PAGE), hash, total ?? null];
  if (dialect !== undefined) parts.push(dialect);
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/** The cursor in a text; undefined when the text is not one that encodeCursor has written. */
export function decodeCursor(text: string): Cursor | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const cursor = cursorOf(parse(Buffer.from(text, 'base64url').toString()));
  // One cursor has one text: neither the base64 nor the JSON may be written another way.
  return cursor !== undefined && encodeCursor(cursor) === text ? cursor : undefined;
}

/** The dialect in a cursor parameter; undefined when it names none, or is no cursor. */
export function dialectOf(cursor: unknown): string | undefined {
  return typeof cursor === 'string' ? decodeCursor(cursor)?.dialect : undefined;
}

function cursorOf(parts: unknown): Cursor | undefined {
  if (!Array.isArray(parts)) return undefined;
  const [value, id, number, page, hash, total, dialect] = parts as unknown[];
  const mode = typeof number === 'number' ? MODES[number] : undefined;
  if (
    !(value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)) ||
    !(typeof id === 'string' && id.length >= 1 && id.length <= MAX_ID_LENGTH) ||
    mode === undefined ||
    !(Number.isInteger(page) && (page as number) >= 1) ||
    typeof hash !== 'string' ||
    !(total === null || (Number.isSafeInteger(total) && (total as number) >= 0)) ||
    !(dialect === undefined || (typeof dialect === 'string' && dialect.length <= MAX_DIALECT_LENGTH))
  ) {
    return undefined;
  }
  return {
    position: { value: value as Position['value'], id },
    direction: mode.startsWith('next') ? 'next' : 'previous',
    inclusive: mode.endsWith('inclusive'),
    page: page as number,
    hash,
    ...(total === null ? {} : { total: total as number }),
    ...(dialect === undefined ? {} : { dialect }),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
