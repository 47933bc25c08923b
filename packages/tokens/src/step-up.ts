import { ServiceError } from '@gatehouse/core/errors';
import { type Acr, isAsStrong } from './acr.ts';
import type { Caller } from './caller.ts';

/** The sign-in that a request needs behind its token: its least acr, and its greatest age in seconds. */
export type SignInNeed = { acr?: Acr; maxAge?: number };

/** How old the sign-in may be for what is dangerous, in seconds. */
export const FRESH: SignInNeed = { maxAge: 300 };

/**
 * Throws `unauthenticated` with the challenge of RFC 9470 §3 unless a person has signed in with this strength and this recently. A
 * credential without a sign-in, such as an API key or the token of a machine, is never enough. Call it where access to a route is checked.
 */
export function requireSignIn(
  { acr, authTime, keyThumbprint }: Partial<Pick<Caller, 'acr' | 'authTime' | 'keyThumbprint'>>,
  { acr: least, maxAge }: SignInNeed,
): void {
  const isStrong = least === undefined || isAsStrong(acr, least);
  const isRecent = maxAge === undefined || Date.now() / 1000 - (authTime ?? 0) <= maxAge;
  if (isStrong && isRecent && authTime !== undefined) return;
  const message = isStrong ? 'This needs a more recent sign-in.' : 'This needs a stronger sign-in.';
  const parameters = [
    'realm="gatehouse"',
    'error="insufficient_user_authentication"',
    `error_description="${message}"`,
    ...(least === undefined ? [] : [`acr_values="${least}"`]),
    ...(maxAge === undefined ? [] : [`max_age="${maxAge}"`]),
  ];
  // A token that is bound to a key is sent by another scheme (RFC 9449 §7.1).
  const scheme = keyThumbprint === undefined ? 'Bearer' : 'DPoP';
  const challenge = `${scheme} ${parameters.join(', ')}`;
  throw new ServiceError('unauthenticated', message, { headers: { 'www-authenticate': challenge } });
}
