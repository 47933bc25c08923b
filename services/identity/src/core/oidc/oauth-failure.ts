import type { RequestFailure } from '@gatehouse/server/requests';
import type { errors, KoaContextWithOIDC } from 'oidc-provider';

type Client = NonNullable<KoaContextWithOIDC['oidc']['entities']['Client']>;

/** The advice for each error of oidc-provider. */
const REMEDIES: readonly (readonly [wrong: RegExp, right: string | ((client: Client) => string)])[] = [
  [
    /code_verifier/,
    'The PKCE verifier does not match. Send the text whose SHA-256 in base64url was the code_challenge (RFC 7636 §4.5).',
  ],
  [
    /authentication mechanism does not match|mechanism provided|must be provided in the Authorization header/,
    ({ clientAuthMethod }) => `This client authenticates by ${clientAuthMethod}.`,
  ],
  [
    /invalid secret/,
    'The client secret is wrong, was replaced or has expired. Add a secret on the Credentials page of the application.',
  ],
  [/redirect_uri mismatch/, 'Send the redirect_uri of the authorization request, character for character.'],
  [
    /^InvalidRedirectUri/,
    ({ redirectUris = [] }) =>
      `redirect_uri is not registered. Registered: ${redirectUris.slice(0, 3).join(', ')}`,
  ],
  [
    /code (?:not found|already consumed|is expired)/,
    'A code works once, for the client that it was issued to, until it expires. Start the authorization again.',
  ],
  [
    /refresh token (?:not found|already consumed|is expired)|grant (?:not found|is expired)/,
    'The refresh token has expired, was replaced or was revoked. Ask the person to sign in again.',
  ],
  [/client mismatch/, 'The code or token was issued to another client.'],
  // The scopes of an exchange are those of a rule, which the error names.
  [/^InvalidScope (?!this exchange)/, ({ scope }) => `This client may ask for: ${scope}.`],
  [
    /(?:grant type|device_code) is not allowed/,
    ({ grantTypes = [] }) => `This client may use: ${grantTypes.join(', ')}.`,
  ],
  [
    /response_type is not allowed/,
    ({ responseTypes = [] }) => `This client may use: ${responseTypes.join(', ')}.`,
  ],
];

/** The error of an OAuth request for the log of its client; its message says more than the response does. */
export function oauthFailure(thrown: Error, client: Client | undefined): RequestFailure {
  const {
    name,
    error,
    error_description: description,
    error_detail: detail,
  } = thrown as errors.OIDCProviderError;
  const reason = detail ?? description ?? error;
  const [, right] = REMEDIES.find(([wrong]) => wrong.test(`${name} ${reason}`)) ?? [];
  const remedy = typeof right === 'function' ? client && right(client) : right;
  return { code: error, message: remedy ?? reason };
}
