import type { IncomingHttpHeaders } from 'node:http';
import { ServiceError } from '@gatehouse/kit/errors';

/** A request of any framework. */
type WithHeaders = { headers: IncomingHttpHeaders };

/** An entity tag (RFC 9110 §8.8.3). */
const TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

/** The strong entity tag of a resource at a version: `"v3"` (RFC 9110 §8.8.3). */
export function etagOf(version: number): string {
  return `"v${version}"`;
}

/**
 * The versions that If-Match lets be changed (RFC 9110 §13.1.1); undefined when any will do: there is no such
 * header, or it is `*`. Comparison is strong: a weak tag, and one that is not ours, names no version. Throws
 * `invalid` for what is no list of tags, since to go on would be to change what somebody meant to guard. A change with
 * `If-None-Match: *` is for what is not there (§13.1.2), so no version may be changed.
 */
export function ifMatch(request: WithHeaders): readonly number[] | undefined {
  const header = request.headers['if-match'];
  if (request.headers['if-none-match']?.trim() === '*') return [];
  if (header === undefined || header.trim() === '*') return undefined;
  const tags = tagsOf(header);
  if (tags === undefined) {
    throw new ServiceError('invalid', 'If-Match is neither * nor a list of entity tags such as "v3".');
  }
  return tags.flatMap((tag) => {
    const version = /^"v(0|[1-9]\d{0,15})"$/.exec(tag)?.[1];
    return version === undefined ? [] : [Number(version)];
  });
}

/**
 * Whether the caller has this version already, as If-None-Match says (RFC 9110 §13.1.2): then GET is answered
 * with 304, the ETag and no body. Comparison is weak. What is no list of tags counts as no header.
 */
export function notModified(request: WithHeaders, etag: string): boolean {
  const header = request.headers['if-none-match'];
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  return (tagsOf(header) ?? []).some((tag) => opaque(tag) === opaque(etag));
}

/** The tags of a list, in which elements may be empty (RFC 9110 §5.6.1.2); undefined when it is none. */
function tagsOf(header: string): string[] | undefined {
  // No header has a NUL in it. One expression for the whole list would take forever for some texts.
  const elements = header.replaceAll(TAG, '\0').split(',');
  const isList = elements.every((element) => ['', '\0'].includes(element.trim()));
  return isList ? (header.match(TAG) ?? []) : undefined;
}

function opaque(tag: string): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag;
}
