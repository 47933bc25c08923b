import type { IncomingHttpHeaders } from 'node:http';
import { ServiceError } from '@gatehouse/core/errors';
import type { IfVersion } from '@gatehouse/domain/if-version';

/** A request of any framework. */
type RequestWithHeaders = { headers: IncomingHttpHeaders };

/** An entity tag (RFC 9110 §8.8.3). */
const ENTITY_TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

/** The strong entity tag of a resource at a version: `"v3"`, or `"v3.7"` with minor changes (RFC 9110 §8.8.3). */
export function etagOf(version: number, minor = 0): string {
  return minor === 0 ? `"v${version}"` : `"v${version}.${minor}"`;
}

/**
 * The versions that If-Match allows to be changed (RFC 9110 §13.1.1); undefined if it allows all of them, because the
 * header is absent or `*`. The comparison is strong: a weak or unknown tag matches no version. Throws `invalid` for a
 * malformed header, since ignoring it would make an unguarded change. `If-None-Match: *` allows a change only where
 * nothing exists (§13.1.2), and so no version.
 */
export function ifMatch(request: RequestWithHeaders): IfVersion {
  const header = request.headers['if-match'];
  if (request.headers['if-none-match']?.trim() === '*') return [];
  if (header === undefined || header.trim() === '*') return undefined;
  const tags = tagsOf(header);
  if (tags === undefined) {
    throw new ServiceError('invalid', 'If-Match is neither * nor a list of entity tags such as "v3".');
  }
  return tags.flatMap((tag) => {
    const [, version, minor] = /^"v(0|[1-9]\d{0,15})(?:\.([1-9]\d{0,15}))?"$/.exec(tag) ?? [];
    if (version === undefined) return [];
    return [minor === undefined ? Number(version) : { version: Number(version), minor: Number(minor) }];
  });
}

/**
 * Whether the caller already has this version, according to If-None-Match (RFC 9110 §13.1.2): GET is then answered with
 * 304, the ETag and no body. The comparison is weak. A malformed header is ignored.
 */
export function notModified(request: RequestWithHeaders, etag: string): boolean {
  const header = request.headers['if-none-match'];
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  return (tagsOf(header) ?? []).some((tag) => opaque(tag) === opaque(etag));
}

/** The tags in a list, whose elements may be empty (RFC 9110 §5.6.1.2); undefined if it is malformed. */
function tagsOf(header: string): string[] | undefined {
  // NUL cannot occur in a header. A single expression for the whole list would backtrack exponentially.
  const elements = header.replaceAll(ENTITY_TAG, '\0').split(',');
  const isList = elements.every((element) => ['', '\0'].includes(element.trim()));
  return isList ? (header.match(ENTITY_TAG) ?? []) : undefined;
}

function opaque(tag: string): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag;
}
