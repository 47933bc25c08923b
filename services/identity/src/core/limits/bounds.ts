import type { RatePolicy } from '@gatehouse/api/http/rate-limit';
import type { CollectionBound } from '@gatehouse/data/bounded';

/*
 * The bounds of all that somebody who has not signed in can cause to be stored: how many, how large and for how long. The table
 * is in docs/threat-model.md, "What is stored before sign-in". The addresses of a network count together (see createAddressLimiter).
 */

/** Requests from one address that carry a secret and fail, and those that store something, whatever becomes of them. */
export const REQUESTS: RatePolicy = { name: 'token', quota: 600, seconds: 60 };
/** Requests from one address to the paths that take passwords, which include the other ways to sign in. */
export const PASSWORDS: RatePolicy = { name: 'password', quota: 60, seconds: 60 };
/** Accounts that are created from one address. */
export const SIGN_UPS: RatePolicy = { name: 'accounts', quota: 20, seconds: 3600 };
/** Passkeys that are refused from one address: each is in the audit log. */
export const FAILED_PASSKEYS: RatePolicy = { name: 'passkeys', quota: 60, seconds: 900 };
/** Documents of clients that are fetched for requests from one address. */
export const METADATA_DOCUMENTS: RatePolicy = { name: 'metadata_documents', quota: 60, seconds: 900 };
/** Clients that register themselves without an initial access token, and their changes; the quota is the default of a setting. */
export const OPEN_REGISTRATIONS: RatePolicy = { name: 'registrations', quota: 20, seconds: 3600 };
/** Sign-ins at other providers that fail. */
export const FAILED_AT_PROVIDERS: RatePolicy = { name: 'providers', quota: 60, seconds: 900 };

/** The longest request to sign in or out, in bytes as a form, pushed or not. */
export const MAX_REQUEST = 6 * 1024;
/** How long people may take for one page of a sign-in, in seconds. */
export const INTERACTION_SECONDS = 3600;
/** How long a device may wait for a person to allow it, in seconds. */
export const DEVICE_CODE_SECONDS = 600;
/** How long a session in which nobody has signed in is kept, in seconds. */
export const ANONYMOUS_SESSION_SECONDS = 3600;

const DAY = 86_400;

/** The documents that a stranger's requests store: the largest size in bytes, and the longest life in seconds. */
type Bound = CollectionBound & { bytes: number; seconds: number };

/**
 * The limits of the documents that strangers from many addresses can store together. The life of a pushed request is oidc-provider's (RFC 9126 §2.2), and
 * that of counters is in sign-in-throttle.ts.
 */
export const BOUNDS: readonly Bound[] = [
  {
    collection: 'oidc_pushed_requests',
    bytes: 20 * 1024,
    seconds: 60,
    max: 100_000,
    filter: () => ({ consumed_at: null }),
    firstToGo: { expires_at: 1 },
  },
  {
    // For the last five minutes it is found as expired.
    collection: 'oidc_device_codes',
    bytes: 20 * 1024,
    seconds: DEVICE_CODE_SECONDS + 300,
    max: 100_000,
    filter: () => ({ grant_id: null }),
    firstToGo: { expires_at: 1 },
  },
  {
    collection: 'oidc_interactions',
    bytes: 24 * 1024,
    seconds: INTERACTION_SECONDS,
    max: 200_000,
    firstToGo: { expires_at: 1 },
  },
  {
    collection: 'oidc_sessions',
    bytes: 16 * 1024,
    seconds: ANONYMOUS_SESSION_SECONDS,
    max: 200_000,
    filter: () => ({ account_id: null, ended: { $ne: true } }),
    firstToGo: { expires_at: 1 },
  },
  {
    // Only failures in a row are counted for longer than a day. Few failures go before many: no account gets more guesses
    // but for as many requests as there are counters.
    collection: 'sign_in_counters',
    bytes: 512,
    seconds: 365 * DAY,
    max: 1_000_000,
    filter: () => ({ expires_at: { $gt: new Date(Date.now() + 2 * DAY * 1000) } }),
    firstToGo: { count: 1, expires_at: 1 },
    index: { count: 1, expires_at: 1 },
  },
  {
    // The life is that of the audit log (IDENTITY_AUDIT_DAYS).
    collection: 'audit_log',
    bytes: 1024,
    seconds: 3650 * DAY,
    max: 1_000_000,
    filter: () => ({ action: 'sign_in.failed' }),
    firstToGo: { _id: 1 },
  },
];
