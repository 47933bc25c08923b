/** The path of a request's URL, as it was sent. */
export function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

/** Segments of unreserved characters (RFC 3986 §2.3), as nearly all paths are. */
const UNRESERVED = /^(?:\/[\w.~-]+)+$/;
const DOT_SEGMENT = /\/\.{1,2}(?:\/|$)/;

/**
 * Whether a path is in the one spelling that is served: each segment as encodeURIComponent writes it, no empty segment, no slash at the
 * end, no dot segment. Routers differ in the other spellings that they accept for a path (RFC 3986 §6.2). A decision by path, such as a
 * limit, would not apply to those.
 */
export function isCanonicalPath(path: string): boolean {
  if (DOT_SEGMENT.test(path)) return false;
  if (path === '/' || UNRESERVED.test(path)) return true;
  const [before, ...segments] = path.split('/');
  return before === '' && segments.length > 0 && segments.every(isCanonicalSegment);
}

function isCanonicalSegment(segment: string): boolean {
  try {
    return segment !== '' && encodeURIComponent(decodeURIComponent(segment)) === segment;
  } catch {
    return false;
  }
}
