import { VerifyError } from './errors.ts';

/**
 * How strongly somebody has signed in, for acr (OpenID Connect Core §2), the weakest first; `phr` is phishing-resistant (OpenID
 * Connect Extended Authentication Profile ACR Values §4): here, a passkey that has verified its user.
 */
export const ACRS = ['urn:gatehouse:acr:single-factor', 'urn:gatehouse:acr:multi-factor', 'phr'] as const;
export type Acr = (typeof ACRS)[number];

/** The sign-in that a request needs behind its token: its least acr, and its greatest age in seconds. */
export type SignInNeed = { acr?: Acr | (string & {}); maxAge?: number };
type SignIn = { acr?: string | undefined; authTime?: number | undefined };

/** Whether a sign-in is at least as strong as this. One with an unknown acr is as strong as that alone. */
export function isAsStrong(acr: string | undefined, as: string): boolean {
  const least = ACRS.indexOf(as as Acr);
  return least === -1 ? acr === as : ACRS.indexOf(acr as Acr) >= least;
}

/** Throws the challenge of RFC 9470 §3 unless a person has signed in with this strength and this recently. */
export function requireSignIn(
  { acr, authTime }: SignIn,
  need: SignInNeed,
  { now = Date.now() / 1000, scheme = 'Bearer' as 'Bearer' | 'DPoP' } = {},
): void {
  const { acr: least, maxAge } = need;
  const isStrong = least === undefined || isAsStrong(acr, least);
  if (isStrong && (maxAge === undefined || (authTime !== undefined && now - authTime <= maxAge))) return;
  const message = isStrong ? 'This needs a more recent sign-in.' : 'This needs a stronger sign-in.';
  const parameters = {
    ...(least === undefined ? {} : { acr_values: least }),
    ...(maxAge === undefined ? {} : { max_age: String(maxAge) }),
  };
  throw new VerifyError(401, 'insufficient_user_authentication', message, { scheme, parameters });
}

/** Throws `insufficient_scope` (RFC 6750 §3.1) unless all of these were granted. */
export function requireScopes(granted: readonly string[], needed: readonly string[]): void {
  if (needed.every((scope) => granted.includes(scope))) return;
  const scope = needed.join(' ');
  throw new VerifyError(403, 'insufficient_scope', `This needs the scope ${scope}.`, {
    parameters: { scope },
  });
}
