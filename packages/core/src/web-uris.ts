const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Whether a URL is of the computer on which it is used. */
export const isLoopback = ({ hostname }: URL): boolean => LOOPBACK.has(hostname);

const MAX_LENGTH = 2000;
/** The characters of RFC 3986 §2, except `*`, which is meant as a wildcard. */
const CHARACTERS = /^[\w\-.~:/?#[\]@!$&'()+,;=%]+$/;

/** The problem of a URI for any use, as the end of a sentence. */
export function uriProblem(uri: string, url: URL | null): string | undefined {
  if (uri.length > MAX_LENGTH) return `must have at most ${MAX_LENGTH} characters`;
  if (uri.includes('*')) return 'must not have a wildcard';
  if (!CHARACTERS.test(uri)) return 'has a character that does not belong in a URI';
  if (/%(?![\da-f]{2})/i.test(uri)) return 'has a % that does not encode anything';
  if (uri.includes('#')) return 'must not have a fragment';
  if (url === null || !/^[a-z][a-z\d+.-]*:/i.test(uri)) return 'must be an absolute URI';
  const [, authority = '', path = ''] = /^[^:]*:(?:\/\/([^/?]*))?([^?]*)/.exec(uri) ?? [];
  // These have a meaning in a Content-Security-Policy, and none in a host name.
  if (/[!$&'()+,;=]/.test(authority)) return 'has a character in its host that host names do not have';
  if (authority.includes('@')) return 'must not have a user name or password';
  if (/%(?:2f|5c)/i.test(path)) return 'must not have an encoded slash';
  if (path.split('/').some((segment) => /^\.{1,2}$/.test(segment.replace(/%2e/gi, '.')))) {
    return 'must not have . or .. in its path';
  }
  // URIs are compared as text, so one that browsers would write differently would never match.
  const normal = path === '' ? uri.replace(/(?=\?|$)/, '/') : uri;
  if (url.href !== uri && url.href !== normal) return `must be in its normal form, ${url.href.slice(0, 200)}`;
  return undefined;
}

/** The problem of a link to a page, as the end of a sentence. */
export function linkProblem(uri: string): string | undefined {
  const url = URL.parse(uri);
  const problem = uriProblem(uri, url);
  if (problem !== undefined || url === null || url.protocol === 'https:') return problem;
  if (url.protocol !== 'http:') return 'must use https';
  return isLoopback(url)
    ? undefined
    : 'must use https. http is allowed for 127.0.0.1, [::1] and localhost only';
}
