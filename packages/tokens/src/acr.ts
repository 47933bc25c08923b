import { ACRS, type Acr } from '@gatehouse/verify/sign-in';

export const [SINGLE_FACTOR, MULTI_FACTOR, PHISHING_RESISTANT] = ACRS;

export function isAcr(value: unknown): value is Acr {
  return ACRS.includes(value as Acr);
}

/** The acr of a sign-in by these methods (RFC 8176 §2). */
export function acrOf(amr: readonly string[] = []): Acr {
  if (amr.includes('user') && (amr.includes('hwk') || amr.includes('swk'))) return PHISHING_RESISTANT;
  return amr.includes('mfa') ? MULTI_FACTOR : SINGLE_FACTOR;
}
