import { SCOPE_MEANINGS as scopes } from '@gatehouse/tokens/scopes';

/** The security requirements of an operation: any one of the scopes, or no credential if scopes are undefined. */
export function securityOf(needed: readonly string[] | undefined) {
  if (needed === undefined) return [];
  // The scheme `bearer` has no scopes of its own. Those that no application can have are only in tokens of Gatehouse itself.
  const grantable = needed.filter((scope) => Object.hasOwn(scopes, scope));
  const each = needed.length === 0 ? [[]] : grantable.map((scope) => [scope]);
  return [{ bearer: [] }, ...each.map((oauth2) => ({ oauth2 }))];
}

/** With HTTP Basic, or in the body; an application that cannot keep a secret sends its client_id only. */
export const CLIENT_AUTHENTICATION = [{ client_secret_basic: [] }, {}];

/** A sentence that names the required scopes; undefined if there are none. */
export function scopesNeeded(scopes: readonly string[] = []): string | undefined {
  const names = scopes.map((name) => `\`${name}\``);
  return names.length === 0 ? undefined : `Requires the scope ${names.join(' or ')}.`;
}

/** The security schemes of the interface; the origin is that of identity's endpoints. */
export function securitySchemes(origin: string) {
  const authorizationUrl = `${origin}/oauth2/authorize`;
  const tokenUrl = `${origin}/oauth2/token`;
  return {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      description:
        'An access token or an API key: `Authorization: Bearer <credential>`. ' +
        'An API key may also be sent as `Authorization: ApiKey <key>`.',
    },
    oauth2: {
      type: 'oauth2',
      flows: {
        authorizationCode: { authorizationUrl, tokenUrl, refreshUrl: tokenUrl, scopes },
        clientCredentials: { tokenUrl, scopes },
      },
    },
  };
}

/** The scheme of CLIENT_AUTHENTICATION. */
export const clientScheme = {
  client_secret_basic: {
    type: 'http',
    scheme: 'basic',
    description:
      'The client_id and the client_secret of an application (RFC 6749 §2.3.1). They may also be sent in the body, and an ' +
      'application with public keys sends a client_assertion instead (RFC 7523).',
  },
};
