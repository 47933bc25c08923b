/** How long after its expiry a verifier may accept a token, in seconds: clocks differ, and requests take time. */
export const CLOCK_MARGIN = 120;

/** The time after which no verifier accepts a token that is issued now, for this many seconds. */
export function acceptedUntil(lifetimeSeconds: number): Date {
  return new Date(Date.now() + (lifetimeSeconds + CLOCK_MARGIN) * 1000);
}
