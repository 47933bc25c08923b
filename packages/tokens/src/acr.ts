/**
 * How strongly somebody has signed in, for acr (OpenID Connect Core §2), the weakest first; `phr` is phishing-resistant (OpenID
 * Connect Extended Authentication Profile ACR Values §4): here, a passkey that has verified its user.
 */
export const ACRS = ['urn:gatehouse:acr:single-factor', 'urn:gatehouse:acr:multi-factor', 'phr'] as const;
export type Acr = (typeof ACRS)[number];
export const [SINGLE_FACTOR, MULTI_FACTOR, PHISHING_RESISTANT] = ACRS;

export function isAcr(value: unknown): value is Acr {
  return ACRS.includes(value as Acr);
}

/** Whether a sign-in is at least as strong as this. A sign-in with an unknown acr is not. */
export function isAsStrong(acr: string | undefined, as: Acr): boolean {
  return ACRS.indexOf(acr as Acr) >= ACRS.indexOf(as);
}

/** The acr of a sign-in by these methods (RFC 8176 §2). */
export function acrOf(amr: readonly string[] = []): Acr {
  if (amr.includes('user') && (amr.includes('hwk') || amr.includes('swk'))) return PHISHING_RESISTANT;
  return amr.includes('mfa') ? MULTI_FACTOR : SINGLE_FACTOR;
}
