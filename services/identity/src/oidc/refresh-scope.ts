/**
 * OpenID Connect Core §11: asks for a refresh token. Here the type of an application decides whether there is one, so the
 * scope is accepted where there is, and grants nothing.
 */
export const OFFLINE_ACCESS = 'offline_access';

/** Removes offline_access from a refresh: it names no scope of the tokens, which RFC 6749 §6 would have it be. */
export function omitOfflineAccess(form: URLSearchParams): void {
  const scope = form.get('scope');
  if (form.get('grant_type') !== 'refresh_token' || scope === null) return;
  const names = scope.split(' ').filter((name) => name !== OFFLINE_ACCESS);
  form.set('scope', names.join(' '));
}
