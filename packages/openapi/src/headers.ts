/** The headers of answers. */
const HEADERS = {
  ETag: 'The version, for If-Match and If-None-Match.',
  Location: 'Where it is found.',
  Link: 'Further addresses (RFC 8288): `next` is the next page, `deprecation` a guide.',
  Deprecation: 'Since when the way it was asked for is deprecated (RFC 9745).',
  Sunset: 'Until when the way it was asked for works (RFC 8594).',
  'Cache-Control': 'How long it may be kept.',
  'X-Request-Id': 'The id of the request in our logs; one that is sent along is kept.',
  'Idempotency-Replayed': '`true` when it is the answer of an earlier attempt.',
  'Retry-After': 'In how many seconds to try again.',
  RateLimit: 'How many requests are left, and for how long.',
  'RateLimit-Policy': 'How many requests are allowed in how many seconds.',
  'WWW-Authenticate': 'Which credential is missing (RFC 6750).',
};

/** The headers that an answer has, each `always` or `sometimes`. */
export type AnswerHeaders = { readonly [Name in keyof typeof HEADERS]?: 'always' | 'sometimes' };

/** The headers of everything that is subject to a rate limit. */
export const LIMITS: AnswerHeaders = { RateLimit: 'sometimes', 'RateLimit-Policy': 'sometimes' };

/** The headers of an answer as the document shows them, in the order given. */
export function headersOf(headers: AnswerHeaders): Record<string, unknown> {
  const names = Object.keys(headers) as (keyof typeof HEADERS)[];
  const describe = (name: keyof typeof HEADERS) => {
    return { description: HEADERS[name], required: headers[name] === 'always', schema: { type: 'string' } };
  };
  return Object.fromEntries(names.map((name) => [name, describe(name)]));
}
