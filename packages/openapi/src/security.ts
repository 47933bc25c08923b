import type { Scope } from '@gatehouse/tokens/scopes';

/** The scopes of the interface, with their descriptions. */
const scopes: Record<Scope, string> = {
  openid: 'sign in with OpenID Connect',
  profile: 'basic profile information',
  email: "the user's email address",
  'read:profile': 'basic user profile information',
  'read:users': 'read user profile information',
  'write:users': 'modify user profiles',
  'read:data': 'read-only data access',
  'write:data': 'create and modify data',
  'read:all': 'read access to all resources',
};

/** The security requirements of an operation: any one of the scopes, or no credential if scopes are undefined. */
export function securityOf(scopes: readonly string[] | undefined) {
  if (scopes === undefined) return [];
  // The scheme `bearer` has no scopes of its own.
  const each = scopes.length === 0 ? [[]] : scopes.map((scope) => [scope]);
  return [{ bearer: [] }, ...each.map((oauth2) => ({ oauth2 }))];
}

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
