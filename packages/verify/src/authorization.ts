import { API_KEY_PREFIX } from './api-key.ts';
import { VerifyError } from './errors.ts';

export type Credential = {
  scheme: 'bearer' | 'apikey' | 'dpop';
  /** The token or key after the scheme's name. */
  value: string;
};

/**
 * The credential in an Authorization header: `Bearer` (RFC 6750 §2.1), `DPoP` (RFC 9449 §7.1) or `ApiKey`. Throws when the header is
 * absent or malformed. Tokens in the query or the body are not read, because they end up in logs.
 */
export function credentialIn(header: string | undefined): Credential {
  if (header === undefined) {
    const description = 'This needs an access token or an API key in the Authorization header.';
    throw new VerifyError(401, 'unauthorized', description);
  }
  const match = /^(Bearer|DPoP|ApiKey) +([\w.~+/-]+=*) *$/i.exec(header);
  if (match?.[1] === undefined || match[2] === undefined) {
    throw new VerifyError(
      401,
      'invalid_request',
      'The Authorization header must be Bearer, DPoP or ApiKey, followed by an access token or an API key.',
    );
  }
  return { scheme: match[1].toLowerCase() as Credential['scheme'], value: match[2] };
}

export function isApiKey({ scheme, value }: Credential): boolean {
  return scheme === 'apikey' || (scheme === 'bearer' && value.startsWith(API_KEY_PREFIX));
}
