import { API_SCOPES, OIDC_SCOPES, type Scope } from '@gatehouse/tokens/scopes';

const SCOPES: Record<Scope, string> = {
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

/**
 * The credentials that an operation takes, with any of the scopes; none for one that is open to everybody. The scheme
 * `bearer` has no scopes of its own, so it stands there once.
 */
export function securityOf(scopes: readonly string[] | undefined) {
  if (scopes === undefined) return [];
  const each = scopes.length === 0 ? [[]] : scopes.map((scope) => [scope]);
  return [{ bearer: [] }, ...each.map((names) => ({ oauth2: names }))];
}

/** The scopes that an operation needs, as a sentence; undefined where it needs none. */
export function scopesNeeded(scopes: readonly string[] = []): string | undefined {
  return scopes.length === 0 ? undefined : `Needs the scope ${scopes.map(code).join(' or ')}.`;
}

const code = (text: string) => `\`${text}\``;

/** The credentials of the interface. The addresses of the token endpoints are below the origin. */
export function securitySchemes(origin: string) {
  const scopes = Object.fromEntries([...OIDC_SCOPES, ...API_SCOPES].map((name) => [name, SCOPES[name]]));
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
        authorizationCode: {
          authorizationUrl: `${origin}/oauth2/authorize`,
          tokenUrl,
          refreshUrl: tokenUrl,
          scopes,
        },
        clientCredentials: { tokenUrl, scopes },
      },
    },
  };
}
