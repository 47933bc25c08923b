import { API_SCOPES, OIDC_SCOPES, parseScope } from '@gatehouse/tokens/scopes';
import { errors, type KoaContextWithOIDC } from 'oidc-provider';

/** The scopes that applications can have. */
export const ALL_SCOPES = [...OIDC_SCOPES, ...API_SCOPES];

/**
 * OpenID Connect Core §11: asks for a refresh token. Here the type of an application decides whether there is one, so the
 * scope is accepted where there is. A native application that gets it outlives sign-outs; elsewhere it grants nothing.
 */
export const OFFLINE_ACCESS = 'offline_access';

/** Whether these scopes let an application stay signed in after a sign-out. */
export function hasOfflineAccess(scope: unknown): boolean {
  return parseScope(String(scope ?? '')).includes(OFFLINE_ACCESS);
}

/** Removes offline_access from a refresh: it names no scope of the tokens, which RFC 6749 §6 would have it be. */
export function omitOfflineAccess(form: URLSearchParams): void {
  const scope = form.get('scope');
  if (form.get('grant_type') !== 'refresh_token' || scope === null) return;
  const names = scope.split(' ').filter((name) => name !== OFFLINE_ACCESS);
  form.set('scope', names.join(' '));
}

/**
 * An authorization request that names no scope, or only offline_access, which reads nothing, asks for `byDefault` (RFC 6749 §3.3), if
 * its application may. Throws when it names none that there is.
 */
export function requireKnownScope(
  { oidc }: KoaContextWithOIDC,
  byDefault: readonly string[],
  known: readonly string[] = ALL_SCOPES,
): void {
  const { params } = oidc;
  const named = parseScope(String(params?.scope ?? ''));
  if (params !== undefined && named.every((name) => name === OFFLINE_ACCESS))
    params.scope = [...byDefault, ...named].join(' ');
  if (parseScope(String(oidc.params?.scope ?? '')).some((name) => known.includes(name))) return;
  const description = `scope must name one or more of: ${known.join(' ')}`;
  throw new errors.CustomOIDCProviderError('invalid_scope', description);
}

/**
 * A machine that names no scope gets all that its application may ask for (RFC 6749 §3.3). One that names more is
 * refused here, since oidc-provider would silently drop the excess.
 */
export function applyDefaultScope(ctx: KoaContextWithOIDC, allowed: readonly string[]): void {
  const { params } = ctx.oidc;
  if (params === undefined) return;
  const requested = parseScope(String(params.scope ?? ''));
  const refused = requested.filter((scope) => !allowed.includes(scope));
  if (refused.length > 0) {
    const named = refused.join(' ').slice(0, 100);
    throw new errors.InvalidScope(`this application may not request ${named}`, named);
  }
  if (requested.length === 0) params.scope = allowed.join(' ');
}
