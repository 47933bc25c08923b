import { text } from './fields.ts';

/** Lengths in characters (code points), inclusive. */
export const USERNAME_LENGTH = { min: 3, max: 64 };
export const EMAIL_MAX = 254;
export const NAME_MAX = 200;
/** E.164 allows at most 15 digits; the shortest numbers in use have 5. */
export const PHONE_DIGITS = { min: 5, max: 15 };

/** RFC 5646 §4.4.1 recommends room for this many. */
export const LOCALE_MAX = 35;
/** More than the longest name of a time zone has. */
export const ZONEINFO_MAX = 64;

/** The fields of a user that admins fill in: users makes its documents of them, and the dashboard its forms. */
export const USER_INPUTS = {
  username: text().input({ label: 'Username', max: USERNAME_LENGTH.max }),
  email: text().default(null).input({ label: 'Email', initial: null, max: EMAIL_MAX }),
  /** Null when it was not chosen: it is derived on each read, so that it follows its sources. */
  name: text().default(null).input({ label: 'Name', max: NAME_MAX }),
  firstName: text().default(null).input({ label: 'First name', initial: null, max: NAME_MAX }),
  lastName: text().default(null).input({ label: 'Last name', initial: null, max: NAME_MAX }),
  phone: text()
    .default(null)
    .input({ label: 'Phone', initial: null, max: 2 * PHONE_DIGITS.max }),
  /** A language tag (BCP 47). */
  locale: text().default(null).input({ label: 'Language', initial: null, max: LOCALE_MAX }),
  /** A time zone of the IANA database. */
  zoneinfo: text().default(null).input({ label: 'Time zone', initial: null, max: ZONEINFO_MAX }),
};
