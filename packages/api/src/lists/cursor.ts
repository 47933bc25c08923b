import { hash } from 'node:crypto';
import type { ListQuery, Position } from '@gatehouse/domain/list-query';

/** The place in a list where a page starts, as it travels between answers and requests. */
export type Cursor = {
  position: Position;
  direction: 'next' | 'previous';
  /** Whether the page includes the row at the position. */
  inclusive: boolean;
  /** The number of the page, counted from 1; informational. */
  page: number;
  /** Identifies the list that the cursor belongs to (see listHash). */
  hash: string;
  /** The number of rows in the whole list, if they have been counted. */
  total?: number;
  /** The API profile of the list that wrote the cursor, where several share a path. */
  profile?: string;
};

/**
 * In characters: enough for the longest sort key, an address in which every character folds to eighteen, and short
 * enough for a request line that Node accepts.
 */
const MAX_LENGTH = 12_000;
const MAX_ID_LENGTH = 256;
const MAX_PROFILE_LENGTH = 32;
const MAX_PAGE = 1_000_000_000;

/** A cursor holds the index of its direction and inclusiveness. */
const MODES = ['next', 'next inclusive', 'previous', 'previous inclusive'];

/** Identifies a list by its conditions, in any order, and its sort. */
export function listHash({ conditions, sort }: ListQuery): string {
  const parts = conditions.map(({ field, operator, values }) =>
    JSON.stringify([field, operator, values.map((value) => JSON.stringify(value)).sort()]),
  );
  const text = JSON.stringify([sort.field, sort.descending, parts.sort()]);
  return hash('sha256', text, 'base64url').slice(0, 16);
}

/** A cursor as text that needs no escaping in a URL. It is opaque to clients, but not secret. */
export function encodeCursor({ position, direction, inclusive, page, hash, total, profile }: Cursor): string {
  const mode = MODES.indexOf(inclusive ? `${direction} inclusive` : direction);
  const parts = [position.value, position.id, mode, Math.min(page, MAX_PAGE), hash, total ?? null];
  if (profile !== undefined) parts.push(profile);
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/** The cursor in a text; undefined unless encodeCursor could have written the text. */
export function decodeCursor(text: string): Cursor | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const cursor = cursorOf(parse(Buffer.from(text, 'base64url').toString()));
  // A cursor has a single valid text: other spellings of its base64 or JSON are refused.
  return cursor !== undefined && encodeCursor(cursor) === text ? cursor : undefined;
}

/** The API profile in a cursor parameter; undefined if it names none, or is not a cursor. */
export function profileInCursor(cursor: unknown): string | undefined {
  return typeof cursor === 'string' ? decodeCursor(cursor)?.profile : undefined;
}

function cursorOf(parts: unknown): Cursor | undefined {
  if (!Array.isArray(parts)) return undefined;
  const [value, id, number, page, hash, total, profile] = parts as unknown[];
  const mode = typeof number === 'number' ? MODES[number] : undefined;
  if (
    !(value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)) ||
    !(typeof id === 'string' && id.length >= 1 && id.length <= MAX_ID_LENGTH) ||
    mode === undefined ||
    !(Number.isInteger(page) && (page as number) >= 1) ||
    typeof hash !== 'string' ||
    !(total === null || (Number.isSafeInteger(total) && (total as number) >= 0)) ||
    !(profile === undefined || (typeof profile === 'string' && profile.length <= MAX_PROFILE_LENGTH))
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
    ...(profile === undefined ? {} : { profile }),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
