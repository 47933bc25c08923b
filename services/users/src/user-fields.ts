import type { FieldProblem } from '@gatehouse/core/errors';
import { isLoopback } from '@gatehouse/core/web-uris';
import { asciiDomain } from '@gatehouse/domain/domain-name';
import { boolean, date, id, inSnakeCase, number, oneOf, text } from '@gatehouse/domain/fields';
import { emailKey, IGNORABLE } from '@gatehouse/domain/folded-key';
import { isTimeZone } from '@gatehouse/domain/time-zone';
import {
  EMAIL_MAX,
  LOCALE_MAX,
  NAME_MAX,
  PHONE_DIGITS,
  USER_INPUTS,
  USERNAME_LENGTH,
  ZONEINFO_MAX,
} from '@gatehouse/domain/user-inputs';
import { keepsToOneScript } from './username-scripts.ts';

export const USER_ROLES = ['user', 'editor', 'admin'] as const;
export const USER_STATUSES = ['active', 'inactive'] as const;

/**
 * Stands before the id in the email key of users without an address, and after the address and before the id in that of
 * users whose address is contested: so one unique index sorts all users, those without an address first. No folded key
 * contains it.
 */
export const NO_ADDRESS = '\0';

/** The fields of a user as stored, but for those that are never returned. */
export const USER = {
  id: id(),
  username: USER_INPUTS.username.list({
    stored: 'username_key',
    type: 'folded',
    unique: true,
    index: 'living_username_key',
  }),
  email: USER_INPUTS.email.list({
    stored: 'email_key',
    type: 'folded',
    key: emailKey,
    unique: true,
    missingPrefix: NO_ADDRESS,
  }),
  /** Whether the address is verified; an unverified one never identifies a user. */
  emailVerified: boolean().default(false),
  name: USER_INPUTS.name,
  firstName: USER_INPUTS.firstName,
  lastName: USER_INPUTS.lastName,
  phone: USER_INPUTS.phone,
  locale: USER_INPUTS.locale,
  zoneinfo: USER_INPUTS.zoneinfo,
  picture: text().default(null),
  role: oneOf(USER_ROLES).list({ mostCommon: 'user' }),
  status: oneOf(USER_STATUSES).list({ mostCommon: 'active' }),
  /** Access tokens with a lower epoch are revoked. Never decreases. */
  epoch: number().default(0),
  /** Sessions, grants and refresh tokens with a lower one are revoked. Never decreases. */
  signInEpoch: number().default(0),
  /** Raised when the account is recovered, by a mailed link or by an admin's. Never decreases. */
  recoveryEpoch: number().default(0),
  /** Standing capabilities that the person has given with a lower one have ended (ADR 41). Never decreases. */
  authorityEpoch: number().default(0),
  /** Raised when the person stops being an admin. Never decreases. */
  adminEpoch: number().default(0),
  /** The address that a mailed link gives back, and that gets such a link when it is replaced again (ADR 32). */
  earlierEmail: text().default(null),
  /** When a confirmed address was last replaced, or an admin last gave back an account where one was. */
  emailReplacedAt: date().default(null),
  /** When an admin last gave the account back: no link undoes an earlier change, except one of the address. */
  givenBackAt: date().default(null),
  /** The key of all that looks like a username that the account had, which nobody else gets until then. */
  heldUsername: text().default(null),
  usernameHeldUntil: date().default(null),
  /** When the role was last lowered, or the account deactivated. */
  loweredAt: date().default(null),
  /** The person or the application who did so; null for Gatehouse itself. */
  loweredBy: text().default(null),
  /** Raised by every write. */
  version: number().default(0),
  createdAt: date().list(),
  updatedAt: date().list(),
};

/** The fields that are never returned, and those that are. */
export const ACCOUNT = {
  ...USER,
  /** Without one, they cannot sign in with a password. */
  passwordHash: text().default(null),
};

/** Checks a value; returns the problem, worded to follow the field's name, or undefined. */
type Rule = (value: string) => string | undefined;

/** In characters (code points), inclusive. */
export const PASSWORD_LENGTH = { min: 8, max: 256 };
const PICTURE_MAX = 2000;

/** Invisible characters, which would let two different names look the same (UAX #31 §2.3). */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/u;
/** Control characters, line separators, and characters that change the direction of text (UAX #9 §2). */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;
/** A visible character; the blank braille pattern (U+2800) is a symbol but shows nothing. */
const VISIBLE = /[[\p{L}\p{N}\p{P}\p{S}]--[\p{Default_Ignorable_Code_Point}\u2800]]/v;

/** The parts of addresses that mail systems accept in practice: see the rule of email addresses. */
const ATOM = String.raw`[\p{L}\p{M}\p{N}!#$%&'*+/=?^_\x60{|}~-]+`;
const LABEL = String.raw`[\p{L}\p{M}\p{N}](?:[\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?`;

const username: Rule = (value) => {
  const { min, max } = USERNAME_LENGTH;
  if (!hasLength(value, min, max)) return `must have ${min} to ${max} characters`;
  // No @, so that at sign-in a username cannot be mistaken for an email address.
  if (!/^[\p{L}\p{M}\p{N}._+-]+$/u.test(value)) {
    return 'may contain letters, digits, dot, underscore, plus and hyphen only';
  }
  if (INVISIBLE.test(value) || !/[\p{L}\p{N}]/u.test(value)) {
    return 'must consist of visible characters, one of them a letter or a digit';
  }
  return keepsToOneScript(value)
    ? undefined
    : 'must be written in a script in common use today, without letters of another that look like its own';
};

const email: Rule = (value) => {
  if (!hasLength(value, 0, EMAIL_MAX)) return `must have at most ${EMAIL_MAX} characters`;
  // The addresses that mail systems accept in practice (RFC 5321 §4.1.2 without quoted strings and address literals;
  // RFC 6531 for other scripts): dot-separated atoms, and a domain of two labels or more, which has A-labels.
  const [local = '', domain = '', ...rest] = value.split('@');
  const valid =
    rest.length === 0 &&
    !INVISIBLE.test(value) &&
    hasLength(local, 1, 64) &&
    new RegExp(`^${ATOM}(?:\\.${ATOM})*$`, 'u').test(local) &&
    new RegExp(`^${LABEL}(?:\\.${LABEL})+$`, 'u').test(domain) &&
    asciiDomain(domain) !== undefined;
  return valid ? undefined : 'must be a valid email address';
};

const password: Rule = (value) => {
  const { min, max } = PASSWORD_LENGTH;
  return hasLength(value, min, max) ? undefined : `must have ${min} to ${max} characters`;
};

/** A person's name. Invisible joiners are allowed: some scripts need them. */
const name: Rule = (value) => {
  if (!hasLength(value, 1, NAME_MAX)) return `must have 1 to ${NAME_MAX} characters`;
  return UNPRINTABLE.test(value) || !VISIBLE.test(value) ? 'must consist of visible characters' : undefined;
};

const phone: Rule = (value) => {
  const digits = value.replace(/[ ().-]/g, '');
  const { min, max } = PHONE_DIGITS;
  return value.length <= 2 * max && new RegExp(`^\\+?\\d{${min},${max}}$`).test(digits)
    ? undefined
    : 'must be a phone number such as +49 30 1234567';
};

const locale: Rule = (value) =>
  value.length <= LOCALE_MAX && isLanguageTag(value)
    ? undefined
    : 'must be a language tag such as en or de-AT';

const zoneinfo: Rule = (value) =>
  isTimeZone(value) ? undefined : 'must be a time zone such as Europe/Berlin';

const picture: Rule = (value) => {
  if (value.length > PICTURE_MAX) return `must have at most ${PICTURE_MAX} characters`;
  // Reject what the URL parser would silently repair, and URLs with credentials. Uploaded pictures are at the public URL, which may
  // be on this computer.
  const url = /^https?:\/\/[^\s\\"'<>`\p{Cc}]+$/u.test(value) ? URL.parse(value) : null;
  const isSafe = url !== null && (url.protocol === 'https:' || isLoopback(url));
  return isSafe && url.username === '' && url.password === '' ? undefined : 'must be an https URL';
};

const among =
  (values: readonly string[]): Rule =>
  (value) =>
    values.includes(value) ? undefined : `must be one of ${values.join(', ')}`;

/** The rules of the fields that people and programs set. */
const RULES = {
  username,
  email,
  password,
  name,
  firstName: name,
  lastName: name,
  phone,
  locale,
  zoneinfo,
  picture,
  role: among(USER_ROLES),
  status: among(USER_STATUSES),
};

const ALL_VISIBLE = `(?!.*[${IGNORABLE}])`;
const PRINTABLE = String.raw`[^\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]`;
/** A visible character: letters that are ignorable, and a symbol that is blank, are none. */
const SHOWN = String.raw`(?![\u115f\u1160\u2800\u3164\uffa0])[\p{L}\p{N}\p{P}\p{S}]`;

/**
 * The rules above as JSON Schema keywords, as far as those can express them: not that a username keeps to one script, nor that a
 * domain has A-labels, nor that a password is not a common one. Patterns are of ECMA-262 with the u flag.
 */
export const FIELD_LIMITS = {
  username: {
    minLength: USERNAME_LENGTH.min,
    maxLength: USERNAME_LENGTH.max,
    pattern: String.raw`^${ALL_VISIBLE}(?=.*[\p{L}\p{N}])[\p{L}\p{M}\p{N}._+-]+$`,
  },
  email: {
    format: 'email',
    maxLength: EMAIL_MAX,
    pattern: String.raw`^${ALL_VISIBLE}(?=[^@]{1,64}@)${ATOM}(?:\.${ATOM})*@${LABEL}(?:\.${LABEL})+$`,
  },
  // No text of a body contains NUL.
  password: { minLength: PASSWORD_LENGTH.min, maxLength: PASSWORD_LENGTH.max, pattern: '^[^\\u0000]*$' },
  name: {
    minLength: 1,
    maxLength: NAME_MAX,
    pattern: `^${PRINTABLE}*${SHOWN}${PRINTABLE}*$`,
  },
  phone: { maxLength: 2 * PHONE_DIGITS.max },
  locale: { maxLength: LOCALE_MAX },
  zoneinfo: { maxLength: ZONEINFO_MAX },
};

type InputField = keyof typeof RULES;
/** The fields of a user that can be changed. */
export type ChangeableField = Exclude<InputField, 'password'>;
export const CHANGEABLE_FIELDS = Object.keys(RULES).filter((key) => key !== 'password') as ChangeableField[];

/** The problems of the fields that are present; null removes a value and is not checked. */
export function fieldProblems(fields: { [K in InputField]?: string | null }): FieldProblem[] {
  return (Object.keys(RULES) as InputField[]).flatMap((key) => {
    const value = fields[key];
    const message = typeof value === 'string' ? RULES[key](value) : undefined;
    return message === undefined ? [] : [{ field: inSnakeCase(key), message }];
  });
}

/** The problems of a draft: those of its fields, or that nothing identifies the person. */
export function draftProblems(draft: Parameters<typeof fieldProblems>[0]): FieldProblem[] {
  const { username, email, name, firstName, lastName } = draft;
  const problems = fieldProblems(draft);
  const isIdentified = [username, email, name, firstName, lastName].some(
    (value) => typeof value === 'string',
  );
  return isIdentified
    ? problems
    : [...problems, { field: 'username', message: 'or an email or a name is required' }];
}

function isLanguageTag(value: string): boolean {
  try {
    // No language is registered by a longer code (RFC 5646 §2.2.1), though a word such as German would be well-formed.
    return /^[a-z]{2,3}(?:-|$)/i.test(value) && Intl.getCanonicalLocales(value).length === 1;
  } catch {
    return false;
  }
}

function hasLength(text: string, min: number, max: number): boolean {
  const length = [...text].length;
  return length >= min && length <= max;
}
