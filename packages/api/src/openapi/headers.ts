/** The headers of responses, with their descriptions. */
const HEADERS = {
  ETag: 'The current version, for If-Match and If-None-Match.',
  Location: 'The path of the new resource, or the URL of the redirect.',
  Link: 'Links (RFC 8288): `next` is the next page, `deprecation` a guide.',
  'Incomplete-Results':
    '`?1` (RFC 9651) if the search did not look in the middle of all words: more rows may have the text there.',
  Deprecation: 'The date since which a parameter of the request is deprecated (RFC 9745).',
  Sunset: 'The date until which deprecated parameters work (RFC 8594).',
  'Cache-Control': 'How long the response may be cached.',
  'X-Request-Id': 'The id of the request in the logs. An id sent by the client is kept.',
  'Idempotency-Replayed': '`true` if this is the response to an earlier attempt.',
  'Retry-After': 'The number of seconds after which to try again.',
  RateLimit: 'The number of remaining requests, and the seconds until the quota resets.',
  'RateLimit-Policy': 'The quota of requests, and its window in seconds.',
  'WWW-Authenticate': 'The required credential (RFC 6750).',
};

/** The headers of a response, each `always` or `sometimes` present. */
export type ResponseHeaders = { readonly [Name in keyof typeof HEADERS]?: 'always' | 'sometimes' };

/** The headers of all responses that are subject to a rate limit. */
export const LIMITS: ResponseHeaders = { RateLimit: 'sometimes', 'RateLimit-Policy': 'sometimes' };

/** The headers of a response in the document, in the given order. */
export function headersOf(headers: ResponseHeaders): Record<string, unknown> {
  const names = Object.keys(headers) as (keyof typeof HEADERS)[];
  const describe = (name: keyof typeof HEADERS) => {
    return { description: HEADERS[name], required: headers[name] === 'always', schema: { type: 'string' } };
  };
  return Object.fromEntries(names.map((name) => [name, describe(name)]));
}
