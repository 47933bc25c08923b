/** How the attempts on one counter are delayed. Times are in milliseconds. */
export type ThrottlePolicy = {
  /** How many attempts cause no delay. */
  free: number;
  /** The delays after those, one for each further attempt; the last one holds for all that follow. */
  delays: readonly number[];
  /** After this time, counting starts over. */
  window: number;
  /** Whether each attempt restarts the window, so that only a pause of that length ends it. */
  sliding: boolean;
};

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const YEAR = 365 * 24 * HOUR;

/** `first`, doubled each time, up to `max`. */
function doubling(first: number, max: number): number[] {
  const delays: number[] = [];
  for (let delay = first; delay < max; delay *= 2) delays.push(delay);
  return [...delays, max];
}

/** One account from one address. Pausing for a day gains nothing over trying every 15 minutes. */
export const PAIR: ThrottlePolicy = {
  free: 5,
  delays: doubling(SECOND, 15 * MINUTE),
  window: 24 * HOUR,
  sliding: true,
};
/** All accounts from one address, and from the networks around it: a subscriber may have a /48 (RFC 6177 §2). */
export const ADDRESSES: readonly ThrottlePolicy[] = [50, 100, 200].map((free) => ({
  free,
  delays: doubling(SECOND, 15 * MINUTE),
  window: 15 * MINUTE,
  sliding: false,
}));
/** One account from everywhere, in a row: what sits out a year is not guessing. */
export const IN_A_ROW: ThrottlePolicy = { free: 100, delays: [YEAR], window: YEAR, sliding: true };
/** For how many seconds an address is known from which an account was signed in to. */
export const KNOWN_ADDRESS_SECONDS = (30 * 24 * HOUR) / SECOND;
/** One account from everywhere: it slows attempts down, but never refuses one. */
export const ACCOUNT: ThrottlePolicy = { free: 20, delays: [0], window: HOUR, sliding: false };
/**
 * Guesses of a second factor of one account, of 10^6 codes of which three are right: the window ends 15 minutes after the last
 * one, so that no 15 minutes have more.
 */
export const CODES: ThrottlePolicy = {
  free: 10,
  delays: [15 * MINUTE],
  window: 15 * MINUTE,
  sliding: true,
};
/** After three, one in ten minutes: however often a stranger asks, the owner's latest link must work for a while. */
export const MAILS_TO_RECIPIENT: ThrottlePolicy = {
  free: 3,
  delays: [10 * MINUTE],
  window: HOUR,
  sliding: false,
};
export const MAILS_FROM_ADDRESS: ThrottlePolicy = {
  free: 20,
  delays: [HOUR],
  window: HOUR,
  sliding: false,
};
