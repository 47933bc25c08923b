const TYPES = 'https://schemas.openid.net/secevent';

/** CAEP 1.0 §3 and RISC 1.0 §2, as far as there are such events here. */
export const SESSION_REVOKED = `${TYPES}/caep/event-type/session-revoked`;
export const CREDENTIAL_CHANGE = `${TYPES}/caep/event-type/credential-change`;
export const TOKEN_CLAIMS_CHANGE = `${TYPES}/caep/event-type/token-claims-change`;
export const ACCOUNT_DISABLED = `${TYPES}/risc/event-type/account-disabled`;
export const ACCOUNT_PURGED = `${TYPES}/risc/event-type/account-purged`;
/** Shared Signals 1.0 §8.1.4.1. Every stream has it. */
export const VERIFICATION = `${TYPES}/ssf/event-type/verification`;
/** Shared Signals 1.0 §8.1.5. */
export const STREAM_UPDATED = `${TYPES}/ssf/event-type/stream-updated`;

export const EVENTS_SUPPORTED: readonly string[] = [
  SESSION_REVOKED,
  CREDENTIAL_CHANGE,
  TOKEN_CLAIMS_CHANGE,
  ACCOUNT_DISABLED,
  ACCOUNT_PURGED,
];
