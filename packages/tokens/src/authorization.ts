import { unauthenticated } from './caller.ts';

/**
 * The token in an Authorization header (RFC 6750 §2.1). Throws `unauthenticated` when there is none or when
 * the header has another form. Tokens in the query or the body are not read: they end up in logs.
 */
export function bearerToken(header: string | undefined): string {
  if (header === undefined) throw unauthenticated('This needs an access token in the Authorization header.');
  const match = /^Bearer +([\w.~+/-]+=*) *$/i.exec(header);
  if (match?.[1] === undefined) {
    throw unauthenticated(
      'The Authorization header must be "Bearer" and an access token.',
      'invalid_request',
    );
  }
  return match[1];
}
