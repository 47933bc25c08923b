import { type Acr, requireSignIn as requireSignInOf } from '@gatehouse/verify/sign-in';
import type { Caller } from './caller.ts';
import { withServiceErrors } from './verification-error.ts';

/** The sign-in that a request needs behind its token: its least acr, and its greatest age in seconds. */
export type SignInNeed = { acr?: Acr; maxAge?: number };

/** How old the sign-in may be for what is dangerous, in seconds. */
export const FRESH: SignInNeed = { maxAge: 300 };

/**
 * Throws `unauthenticated` with the challenge of RFC 9470 §3 unless a person has signed in with this strength and this recently. A
 * credential without a sign-in, such as an API key or the token of a machine, is never enough, nor is that of an application which acts for
 * the person. Call it where access to a route is checked.
 */
export function requireSignIn(
  {
    acr,
    authTime,
    keyThumbprint,
    actors,
  }: Partial<Pick<Caller, 'acr' | 'authTime' | 'keyThumbprint' | 'actors'>>,
  need: SignInNeed,
): void {
  // A token that is bound to a key is sent by another scheme (RFC 9449 §7.1).
  const scheme = keyThumbprint === undefined ? 'Bearer' : 'DPoP';
  const signIn = actors === undefined ? { acr, authTime } : {};
  withServiceErrors(() => requireSignInOf(signIn, need, { scheme }));
}
