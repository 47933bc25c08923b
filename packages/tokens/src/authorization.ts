import { unauthenticated } from './caller.ts';

export type Credential = {
  scheme: 'bearer' | 'apikey' | 'dpop';
  /** The token or key after the scheme's name. */
  value: string;
};

/**
 * The credential in an Authorization header: `Bearer` (RFC 6750 §2.1), `DPoP` (RFC 9449 §7.1) or `ApiKey`. Throws
 * `unauthenticated` when the header is absent or malformed. Tokens in the query or the body are not read, because they
 * end up in logs.
 */
export function credentialIn(header: string | undefined): Credential {
  if (header === undefined)
    throw unauthenticated('This needs an access token or an API key in the Authorization header.');
  const match = /^(Bearer|DPoP|ApiKey) +([\w.~+/-]+=*) *$/i.exec(header);
  if (match?.[1] === undefined || match[2] === undefined) {
    throw unauthenticated(
      'The Authorization header must be "Bearer", "DPoP" or "ApiKey", followed by an access token or an API key.',
      'invalid_request',
    );
  }
  return { scheme: match[1].toLowerCase() as Credential['scheme'], value: match[2] };
}
